<?php

namespace App\Document;

use Doctrine\ODM\MongoDB\Mapping\Annotations as ODM;

#[ODM\Document(collection: 'invoices')]
class Invoice
{
    #[ODM\Id]
    private string $id;

    #[ODM\Field(type: 'string')]
    private string $number;

    #[ODM\Field(type: 'decimal128')]
    private string $totalPrice = '0';

    public function add(string $price): void
    {
        $this->totalPrice = bcadd($this->totalPrice, $price, 2);
    }
}

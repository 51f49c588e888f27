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

    #[ODM\Field(type: 'float')]
    private float $totalPrice = 0.0; // lint: T020

    public function add(float $price): void
    {
        $this->totalPrice += $price;
    }
}

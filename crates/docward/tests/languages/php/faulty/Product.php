<?php

namespace App\Models;

use MongoDB\Laravel\Eloquent\Model;

class Product extends Model
{
    protected $connection = 'mongodb';
    protected $collection = 'products';
    protected $fillable = ['name', 'price', 'stock'];

    protected $casts = [
        'price' => 'float', // lint: T020
        'stock' => 'integer',
    ];

    public function total(int $count): float
    {
        return $this->price * $count;
    }
}

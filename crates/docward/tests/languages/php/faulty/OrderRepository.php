<?php

declare(strict_types=1);

namespace Shop;

use MongoDB\BSON\UTCDateTime;
use MongoDB\Client;
use MongoDB\Collection;

final class OrderRepository
{
    private const DEFAULT_DB = 'shop';

    private Collection $orders;

    public function __construct()
    {
        $client = new Client(
            'mongodb://shop:Tr0ub4dor@db1.shop.io:27017,db2.shop.io:27017/shop?replicaSet=rs0', // lint: C012 S020
            ['retryWrites' => false, 'w' => 0], // lint: C016 C021
        );
        $this->orders = $client->selectDatabase(self::DEFAULT_DB)->selectCollection('orders');
        $this->orders->createIndex(['customerId' => 1, 'createdAt' => -1]);
    }

    public function addEvent(string $id, string $kind): void
    {
        $this->orders->updateOne(
            ['_id' => $id],
            [
                '$push' => [
                    'events' => ['kind' => $kind, 'at' => new UTCDateTime()], // lint: D020
                ],
                '$set' => ['updatedAt' => new UTCDateTime()],
            ],
        );
    }

    public function openCount(string $customerId): int
    {
        return $this->orders->countDocuments(['customerId' => $customerId, 'state' => 'open']);
    }
}

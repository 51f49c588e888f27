<?php

declare(strict_types=1);

namespace Shop;

use MongoDB\Client;
use MongoDB\Collection;

final class OrderRepository
{
    private const DEFAULT_DB = 'shop';
    private const KEPT_EVENTS = 100;

    private Collection $orders;

    public function __construct()
    {
        $client = new Client($_ENV['MONGODB_URI'] ?? 'mongodb://localhost:27017', ['w' => 'majority']);
        $client->selectDatabase('admin')->command(['ping' => 1]);
        $this->orders = $client->selectDatabase(self::DEFAULT_DB)->selectCollection('orders');
        $this->orders->createIndex(['customerId' => 1, 'createdAt' => -1]);
    }

    public function addEvent(string $id, array $event): void
    {
        $this->orders->updateOne(
            ['_id' => $id],
            ['$push' => ['events' => ['$each' => [$event], '$slice' => -self::KEPT_EVENTS]]],
        );
    }

    public function openCount(string $customerId): int
    {
        return $this->orders->countDocuments(['customerId' => $customerId, 'state' => 'open']);
    }
}

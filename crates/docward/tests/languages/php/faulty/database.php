<?php

return [
    'default' => env('DB_CONNECTION', 'mongodb'),
    'connections' => [
        'mongodb' => [
            'driver' => 'mongodb',
            'dsn' => 'mongodb+srv://' . env('DB_USERNAME') . ':' . env('DB_PASSWORD') . '@shop.example.net/shop',
            'database' => env('MONGODB_DATABASE', 'shop'),
            'options' => [
                'authSource' => 'admin',
                'retryWrites' => false, // lint: C016
            ],
        ],
    ],
];

<?php

namespace App\Http\Controllers;

use Illuminate\Http\Request;
use MongoDB\Client;
use Shop\OrderRepository;

class ReportController extends Controller
{
    public function viewed(Request $request, OrderRepository $orders)
    {
        $orders->addEvent($request->input('order'), ['kind' => 'viewed', 'at' => time()]);

        return response()->noContent();
    }

    // The extension keeps the client for the next request of the same process.
    public function show(Request $request)
    {
        $client = new Client(getenv('MONGODB_URI'));

        return response()->json($client->shop->reports->findOne(['day' => (string) $request->query('day')]));
    }
}

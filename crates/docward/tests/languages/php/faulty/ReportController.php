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

    // The client is thrown away with the request: the extension is told not to keep it.
    public function show(Request $request)
    {
        $client = new Client(getenv('MONGODB_URI'), [], ['disableClientPersistence' => true]); // lint: C040

        return response()->json($client->shop->reports->findOne(['day' => (string) $request->query('day')]));
    }
}

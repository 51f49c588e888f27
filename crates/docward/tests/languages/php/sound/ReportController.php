<?php

namespace App\Http\Controllers;

use Illuminate\Http\Request;
use MongoDB\Client;

class ReportController extends Controller
{
    // The extension keeps the client for the next request of the same process.
    public function show(Request $request)
    {
        $client = new Client(getenv('MONGODB_URI'));

        return response()->json($client->shop->reports->findOne(['day' => $request->query('day')]));
    }
}

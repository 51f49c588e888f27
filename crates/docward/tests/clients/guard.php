<?php
// One page of a program that keeps no connections: reads and writes a document, and ends.
$manager = new MongoDB\Driver\Manager($argv[1]);
$bulk = new MongoDB\Driver\BulkWrite();
$bulk->update(['_id' => 1], ['$inc' => ['visits' => 1]], ['upsert' => true]);
$manager->executeBulkWrite('db_shop.t_page', $bulk);
$found = $manager->executeQuery('db_shop.t_page', new MongoDB\Driver\Query(['_id' => 1]))->toArray();
echo $found[0]->visits >= 1 ? "ok\n" : "wrong\n";

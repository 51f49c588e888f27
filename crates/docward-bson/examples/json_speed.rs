//! Measures the conversion of JSON to BSON: about 100 MB of generated orders as relaxed Extended
//! JSON lines, through `docward_bson::json` and, for comparison, through `serde_json::Value`.
//!
//! `cargo run --release -p docward-bson --example json_speed`

#![expect(clippy::print_stdout, reason = "printing is what this program is for")]

use std::fmt::Write;
use std::hint::black_box;
use std::time::Instant;

use docward_bson::json::{Parser, Step};

const SIZE: usize = 100_000_000;
const REPETITIONS: usize = 5;

fn main() {
    let text = orders(SIZE);
    let lines = text.lines().count();
    println!("{} bytes in {lines} documents, {} each", text.len(), text.len() / lines);
    println!("{}", text.lines().next().unwrap_or_default());
    let mut best = [0.0_f64; 2];
    for _ in 0..REPETITIONS {
        for (index, run) in [ours as fn(&[u8]) -> usize, serde_json_value].into_iter().enumerate() {
            let start = Instant::now();
            let documents = black_box(run(black_box(text.as_bytes())));
            let speed = text.len() as f64 / 1e6 / start.elapsed().as_secs_f64();
            assert_eq!(documents, lines, "every line is a document");
            best[index] = best[index].max(speed);
            print!("{}: {speed:6.0} MB/s   ", ["docward", "serde_json"][index]);
        }
        println!();
    }
    println!("best: {:.0} and {:.0} MB/s, {:.2} times", best[0], best[1], best[0] / best[1]);
}

fn ours(mut rest: &[u8]) -> usize {
    let (mut parser, mut out, mut documents) = (Parser::new(), Vec::new(), 0);
    loop {
        out.clear();
        match parser.step(rest, true, &mut out) {
            Step::Document { consumed } => {
                rest = &rest[consumed..];
                documents += 1;
                black_box(out.as_slice());
            }
            Step::End => return documents,
            other => panic!("{other:?}"),
        }
    }
}

fn serde_json_value(text: &[u8]) -> usize {
    let mut documents = 0;
    for line in text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        let value: serde_json::Value = serde_json::from_slice(line).expect("made to be valid");
        black_box(&value);
        documents += 1;
    }
    documents
}

/// Pseudo-random numbers that are the same every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len() as u64) as usize]
    }
}

fn orders(size: usize) -> String {
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    let mut text = String::with_capacity(size + 4096);
    while text.len() < size {
        order(&mut dice, &mut text).expect("a string takes everything");
    }
    text
}

fn order(dice: &mut Dice, text: &mut String) -> std::fmt::Result {
    const FIRST: &[&str] = &["Ada", "Grace", "Edsger", "Barbara", "José", "Margaret", "Alan"];
    const LAST: &[&str] = &["Lovelace", "Hopper", "Dijkstra", "Liskov", "García", "Hamilton"];
    const CITY: &[&str] = &["Berlin", "Zürich", "San Francisco", "Lyon", "Oslo", "Kraków"];
    const STATUS: &[&str] = &["pending", "paid", "shipped", "delivered", "returned"];
    const PRODUCT: &[&str] =
        &["Desk lamp, black", "USB-C cable 2 m", "Office chair \\\"Comfort\\\"", "Notebook A5"];
    let (first, last) = (dice.pick(FIRST), dice.pick(LAST));
    write!(
        text,
        r#"{{"_id":{{"$oid":"{:08x}{:016x}"}},"orderNumber":"ORD-2024-{:06}","status":"{}","priority":{},"createdAt":{{"$date":"2024-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z"}},"customer":{{"customerId":{},"name":"{first} {last}","email":"{}.{}@example.com","vip":{},"loyaltyPoints":{},"address":{{"street":"{} Main Street","city":"{}","zip":"{:05}","country":"DE","location":{{"type":"Point","coordinates":[{}.{:06},{}.{:06}]}}}}}},"items":["#,
        0x6500_0000 + dice.below(0x00FF_FFFF),
        dice.below(u64::MAX),
        dice.below(1_000_000),
        dice.pick(STATUS),
        dice.below(5),
        1 + dice.below(12),
        1 + dice.below(28),
        dice.below(24),
        dice.below(60),
        dice.below(60),
        dice.below(1000),
        dice.below(1_000_000),
        first.to_lowercase(),
        last.to_lowercase(),
        dice.below(2) == 0,
        dice.below(20_000),
        1 + dice.below(300),
        dice.pick(CITY),
        dice.below(100_000),
        dice.below(180),
        dice.below(1_000_000),
        dice.below(90),
        dice.below(1_000_000),
    )?;
    for index in 0..2 + dice.below(3) {
        let comma = if index == 0 { "" } else { "," };
        write!(
            text,
            r#"{comma}{{"sku":"SKU-{:05}","name":"{}","quantity":{},"unitPrice":{}.{:02},"discount":{},"tags":["{}","sale"]}}"#,
            dice.below(100_000),
            dice.pick(PRODUCT),
            1 + dice.below(9),
            dice.below(500),
            dice.below(100),
            if dice.below(3) == 0 { "null" } else { "0.15" },
            dice.pick(STATUS),
        )?;
    }
    writeln!(
        text,
        r#"],"payment":{{"method":"card","paid":{},"amount":{}.{:02},"currency":"EUR","transactionId":"tx_{:016x}"}},"shipping":{{"carrier":"DHL","tracking":"{:012}","estimatedDays":{}}},"total":{}.{:02},"version":{},"updatedAt":{{"$date":"2024-{:02}-{:02}T12:00:00Z"}}}}"#,
        dice.below(2) == 0,
        dice.below(2000),
        dice.below(100),
        dice.below(u64::MAX),
        dice.below(1_000_000_000_000),
        1 + dice.below(10),
        dice.below(2000),
        dice.below(100),
        dice.below(50),
        1 + dice.below(12),
        1 + dice.below(28),
    )
}

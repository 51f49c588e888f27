//! Generates deterministic documents: order-like (about 850 bytes, drifting types), wide (200
//! fields, about 20 KB), and one with millions of keys that are data.

use std::{
    fs::File,
    io::{BufWriter, Read, Write},
};

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// Writes BSON straight into a buffer.
struct Writer {
    out: Vec<u8>,
    open: Vec<usize>,
}

impl Writer {
    fn begin(&mut self) {
        self.open.push(self.out.len());
        self.out.extend([0; 4]);
    }

    fn end(&mut self) {
        self.out.push(0);
        let start = self.open.pop().expect("balanced");
        let len = (self.out.len() - start) as u32;
        self.out[start..start + 4].copy_from_slice(&len.to_le_bytes());
    }

    fn key(&mut self, tag: u8, key: &str) {
        self.out.push(tag);
        self.out.extend(key.as_bytes());
        self.out.push(0);
    }

    fn text(&mut self, key: &str, value: &str) {
        self.key(2, key);
        self.out.extend((value.len() as u32 + 1).to_le_bytes());
        self.out.extend(value.as_bytes());
        self.out.push(0);
    }

    fn int(&mut self, key: &str, value: i32) {
        self.key(0x10, key);
        self.out.extend(value.to_le_bytes());
    }

    fn long(&mut self, key: &str, value: i64) {
        self.key(0x12, key);
        self.out.extend(value.to_le_bytes());
    }

    fn double(&mut self, key: &str, value: f64) {
        self.key(1, key);
        self.out.extend(value.to_le_bytes());
    }

    fn date(&mut self, key: &str, ms: i64) {
        self.key(9, key);
        self.out.extend(ms.to_le_bytes());
    }

    fn oid(&mut self, key: &str, seconds: u32, n: u64) {
        self.key(7, key);
        self.out.extend(seconds.to_be_bytes());
        self.out.extend(&n.to_be_bytes());
    }

    /// Writes cents as a decimal with two places.
    fn decimal(&mut self, key: &str, cents: u64) {
        self.key(0x13, key);
        self.out.extend(cents.to_le_bytes());
        self.out.extend((0x3040_0000_0000_0000u64 - (2 << 49)).to_le_bytes());
    }

    fn bool(&mut self, key: &str, value: bool) {
        self.key(8, key);
        self.out.push(u8::from(value));
    }

    fn null(&mut self, key: &str) {
        self.key(10, key);
    }

    fn object(&mut self, key: &str, fill: impl FnOnce(&mut Self)) {
        self.key(3, key);
        self.begin();
        fill(self);
        self.end();
    }

    fn array(&mut self, key: &str, count: u64, mut item: impl FnMut(&mut Self, &str, u64)) {
        self.key(4, key);
        self.begin();
        for i in 0..count {
            item(self, &i.to_string(), i);
        }
        self.end();
    }
}

fn write(file: &str, count: u64, mut fill: impl FnMut(&mut Writer, &mut Random, u64)) {
    let mut to = BufWriter::with_capacity(1 << 20, File::create(file).expect("a writable file"));
    let mut writer = Writer { out: Vec::new(), open: Vec::new() };
    let mut random = Random(42);
    for i in 0..count {
        writer.begin();
        fill(&mut writer, &mut random, i);
        writer.end();
        if writer.out.len() > 1 << 20 || i + 1 == count {
            to.write_all(&writer.out).expect("room on the disk");
            writer.out.clear();
        }
    }
}

const CITIES: [&str; 8] =
    ["Shanghai", "Berlin", "São Paulo", "Nairobi", "Osaka", "Chicago", "Lyon", "Pune"];
const WORDS: [&str; 12] = [
    "blue", "steel", "lamp", "cotton", "wireless", "mug", "garden", "travel", "kids", "desk",
    "winter", "classic",
];

fn words(random: &mut Random, n: u64) -> String {
    let picked: Vec<_> = (0..n).map(|_| WORDS[random.below(12) as usize]).collect();
    picked.join(" ")
}

/// Writes orders with drifting types.
pub fn orders(file: &str, count: u64) {
    write(file, count, |w, r, i| {
        let seconds = 1_690_000_000 + (i * 13) as u32;
        let ms = i64::from(seconds) * 1000 + r.below(1000) as i64;
        w.oid("_id", seconds, i);
        if r.chance(3) {
            w.int("orderNo", 20_240_000 + i as i32);
        } else {
            w.text("orderNo", &format!("ORD{:011}", 20_240_000_000 + i));
        }
        let customer = r.below(200_000);
        w.oid("customerId", 1_600_000_000 + customer as u32, customer);
        w.text("status", ["paid", "shipped", "new", "cancelled", "done"][r.below(5) as usize]);
        if r.chance(2) {
            w.text("createdAt", "2024-03-15 10:30:00");
        } else {
            w.date("createdAt", ms);
        }
        if r.chance(60) {
            w.date("updatedAt", ms + r.below(90_000_000) as i64);
        }
        w.text("channel", ["web", "app", "store"][r.below(3) as usize]);
        w.bool("gift", r.chance(10));
        w.object("shipping", |w| {
            w.text("name", &format!("Customer {customer}"));
            w.text("street", &format!("{} {} street", r.below(400), WORDS[r.below(12) as usize]));
            w.text("city", CITIES[r.below(8) as usize]);
            if r.chance(5) {
                w.int("zip", r.below(99_999) as i32);
            } else {
                w.text("zip", &format!("{:05}", r.below(99_999)));
            }
            w.text("country", ["CN", "DE", "BR", "KE", "JP", "US"][r.below(6) as usize]);
            if r.chance(20) {
                w.null("phone");
            } else {
                w.text("phone", &format!("+49{:09}", r.below(999_999_999)));
            }
        });
        let items = 1 + r.below(5);
        let mut total = 0;
        w.key(4, "items");
        w.begin();
        for n in 0..items {
            w.object(&n.to_string(), |w| {
                let product = r.below(20_000);
                let cents = 100 + r.below(50_000);
                let quantity = 1 + r.below(3);
                total += cents * quantity;
                w.text("sku", &format!("SKU-{product:06}"));
                w.long("productId", product as i64);
                w.text("name", &words(r, 3));
                w.int("quantity", quantity as i32);
                match r.below(100) {
                    0..8 => w.double("price", cents as f64 / 100.0),
                    8..10 => w.text("price", &format!("{}.{:02}", cents / 100, cents % 100)),
                    _ => w.decimal("price", cents),
                }
                w.double("weight", r.below(5000) as f64 / 1000.0);
            });
        }
        w.end();
        if r.chance(5) {
            w.double("total", total as f64 / 100.0);
        } else {
            w.decimal("total", total);
        }
        w.object("payment", |w| {
            w.text("method", ["card", "transfer", "wallet"][r.below(3) as usize]);
            w.text("transactionId", &format!("{:016x}", r.next()));
            w.date("paidAt", ms + 5000);
        });
        if r.chance(30) {
            w.text("notes", &words(r, 8));
        }
        if r.chance(40) {
            w.array("tags", 1 + i % 3, |w, key, n| w.text(key, WORDS[(i + n) as usize % 12]));
        }
        w.int("version", 1);
    });
}

/// Writes documents with 200 top-level fields, about 20 KB each.
pub fn wide(file: &str, count: u64) {
    write(file, count, |w, r, i| {
        w.oid("_id", 1_690_000_000 + i as u32, i);
        for f in 0..200u64 {
            let key = format!("field{f:03}");
            match f % 8 {
                0 => w.int(&key, r.below(100_000) as i32),
                1 => w.double(&key, r.below(1_000_000) as f64 / 1000.0),
                2 => w.date(&key, 1_690_000_000_000 + r.below(1 << 36) as i64),
                3 => w.array(&key, 3, |w, k, n| w.int(k, (i + n) as i32)),
                4 => {
                    let text = words(r, 40);
                    w.text(&key, &text);
                }
                5 => {
                    let text = words(r, 60);
                    w.text(&key, &text);
                }
                6 => w.text(&key, &format!("{:032x}", u128::from(r.next()))),
                _ => w.bool(&key, r.chance(50)),
            }
        }
    });
}

/// Writes documents whose keys are data, with `keys` different ones in total.
pub fn dynamic(file: &str, keys: u64) {
    const PER_DOCUMENT: u64 = 200;
    write(file, keys.div_ceil(PER_DOCUMENT), |w, r, i| {
        w.oid("_id", 1_690_000_000 + i as u32, i);
        w.object("scores", |w| {
            for n in 0..PER_DOCUMENT {
                let key = format!("player-{:x}", (i * PER_DOCUMENT + n).wrapping_mul(0x9e37_79b9));
                w.object(&key, |w| w.int("points", r.below(100) as i32));
            }
        });
    });
}

/// Writes the first documents of a BSON file as relaxed Extended JSON lines.
pub fn jsonl(from: &str, to: &str, count: u64) {
    let mut bytes = Vec::new();
    File::open(from).and_then(|mut f| f.read_to_end(&mut bytes)).expect("the file was generated");
    let mut out = BufWriter::with_capacity(1 << 20, File::create(to).expect("a writable file"));
    let mut at = 0;
    let mut text = String::new();
    for _ in 0..count {
        if at >= bytes.len() {
            break;
        }
        let len = u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")) as usize;
        text.clear();
        json(&bytes[at..at + len], false, &mut text);
        text.push('\n');
        out.write_all(text.as_bytes()).expect("room on the disk");
        at += len;
    }
}

fn json(document: &[u8], list: bool, out: &mut String) {
    use std::fmt::Write as _;
    out.push(if list { '[' } else { '{' });
    for (n, element) in docward_bson::walk::Elements::new(document).expect("BSON").enumerate() {
        let element = element.expect("BSON");
        let v = element.value;
        if n > 0 {
            out.push(',');
        }
        if !list {
            let _ = write!(out, "\"{}\":", String::from_utf8_lossy(element.key));
        }
        let eight = || v[..8].try_into().expect("eight bytes");
        let _ = match element.tag {
            1 => write!(out, "{:?}", f64::from_le_bytes(eight())),
            2 => write!(out, "{:?}", String::from_utf8_lossy(&v[4..v.len() - 1])),
            3 => {
                json(v, false, out);
                Ok(())
            }
            4 => {
                json(v, true, out);
                Ok(())
            }
            7 => {
                let hex: String = v.iter().map(|b| format!("{b:02x}")).collect();
                write!(out, "{{\"$oid\":\"{hex}\"}}")
            }
            8 => write!(out, "{}", v[0] != 0),
            9 => {
                let ms = i64::from_le_bytes(eight());
                write!(out, "{{\"$date\":\"{}\"}}", iso(ms))
            }
            0x10 => write!(out, "{}", i32::from_le_bytes(v[..4].try_into().expect("four bytes"))),
            0x12 => write!(out, "{}", i64::from_le_bytes(eight())),
            0x13 => {
                let text = docward_bson::decimal_text(v[..16].try_into().expect("sixteen bytes"));
                write!(out, "{{\"$numberDecimal\":\"{text}\"}}")
            }
            _ => write!(out, "null"),
        };
    }
    out.push(if list { ']' } else { '}' });
}

/// ISO 8601 in UTC, from milliseconds (days to civil date by Hinnant's algorithm).
fn iso(ms: i64) -> String {
    let (days, rest) = (ms.div_euclid(86_400_000), ms.rem_euclid(86_400_000));
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let day = doy - (153 * mp + 2) / 5 + 1;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    let year = yoe + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (rest / 3_600_000, rest / 60_000 % 60, rest / 1000 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", rest % 1000)
}

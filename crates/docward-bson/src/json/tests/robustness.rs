//! Tests with invalid bytes: no panic, no endless loop, and only valid BSON.

use super::{decode, read_all, read_pieces};

const SEEDS: &[&str] = &[
    r#"{"_id":{"$oid":"507f1f77bcf86cd799439011"},"a":[1,-2.5,1e10,"x\u00e9\ud83d\ude00\n"],"b":{"c":null,"d":true}}"#,
    r#"{"a":{"$date":{"$numberLong":"5"}},"b":{"$binary":{"base64":"AQID","subType":"00"}},"c":{"$regularExpression":{"pattern":"a","options":"i"}}}"#,
    r#"{"a":{"$timestamp":{"t":1,"i":2}},"b":{"$code":"x","$scope":{"a":1}},"c":{"$dbPointer":{"$ref":"b","$id":{"$oid":"507f1f77bcf86cd799439011"}}}}"#,
    "[{a: ObjectId('507f1f77bcf86cd799439011'), b: new Date(5), c: /a[/]/i, d: -Infinity,}, // x\n{}]",
    "{a: BinData(0,\"AQID\"), b: Timestamp({t:1,i:2}), c: MinKey, d: DBRef('a', 5), e: UUID('73ffd264-44b3-4c69-90e8-e7d1dfc035d4')}\n/* x */ {\"größer\": NumberDecimal('1.5')}",
    r#"{"a":{"$regex":"a","$options":"i"},"b":{"$binary":"AQID","$type":"00"},"c":{"$numberDecimal":"1E+3"},"d":{"$date":"2014-01-01T00:00:00.000+0100"}}"#,
];

struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit.max(1)
    }
}

fn mutate(dice: &mut Dice, text: &mut Vec<u8>) {
    const PARTS: &[&[u8]] = &[
        b"{",
        b"}",
        b"[",
        b"]",
        b"\"",
        b"'",
        b":",
        b",",
        b"/",
        b"/*",
        b"*/",
        b"//",
        b"\\",
        b"\\u",
        b"\n{",
        b"$oid",
        b"\"$date\":",
        b"new ",
        b"(",
        b")",
        b"-",
        b"1e",
        b"\xFF",
        b"\0",
        b"99999999999999999999",
    ];
    let at = dice.below(text.len() + 1);
    match dice.below(6) {
        0 if at < text.len() => text[at] = dice.below(256) as u8,
        1 if at < text.len() => drop(text.remove(at)),
        2 => text.truncate(at),
        3 => {
            let to = (at + dice.below(30)).min(text.len());
            let copy = text[at..to].to_vec();
            let into = dice.below(text.len() + 1);
            text.splice(into..into, copy);
        }
        _ => {
            let part = PARTS[dice.below(PARTS.len())];
            text.splice(at..at, part.iter().copied());
        }
    }
}

#[test]
fn mutated_documents() {
    let mut dice = Dice(0x2545_F491_4F6C_DD1D);
    for round in 0..20_000 {
        let mut text = SEEDS[dice.below(SEEDS.len())].as_bytes().to_vec();
        for _ in 0..1 + dice.below(6) {
            mutate(&mut dice, &mut text);
        }
        let outcome = read_all(&text);
        for bytes in outcome.iter().flatten() {
            decode(bytes);
        }
        if round % 16 == 0 {
            let piece = 1 + dice.below(40);
            assert_eq!(read_pieces(&text, piece), outcome, "{}", String::from_utf8_lossy(&text));
        }
    }
}

#[test]
fn random_bytes() {
    const ALPHABET: &[u8] = b"{}[]\"':,/*\\ \n$abtrue0123.-eE()\xC3\xA9\xFF\0";
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    for round in 0..20_000 {
        let length = dice.below(60);
        let any = round % 2 == 0;
        let text: Vec<u8> = (0..length)
            .map(|_| if any { dice.below(256) as u8 } else { ALPHABET[dice.below(ALPHABET.len())] })
            .collect();
        for bytes in read_all(&text).iter().flatten() {
            decode(bytes);
        }
    }
}

#[test]
fn nothing_takes_quadratic_time() {
    // Each of these would take minutes if any step scanned the whole rest.
    for unit in [
        "{\"$date\":",
        "{\"a\":\"",
        "{'",
        "[",
        "/*",
        "x ",
        "\"",
        "{\"$oid\":\"",
        "/",
        "{a:/",
        "{x}\n",
        "[[1],",
    ] {
        read_all(unit.repeat(100_000).as_bytes());
    }
}

//! Tests every notation and its BSON.

use bson::oid::ObjectId;
use bson::spec::BinarySubtype;
use bson::{Binary, Bson, DateTime, Decimal128, JavaScriptCodeWithScope, Regex, Timestamp, doc};

use super::{decode, read};
use crate::json::parse_one;

/// The value of `{"v": …}`.
#[track_caller]
fn value(text: &str) -> Bson {
    read(&format!("{{\"v\": {text}}}")).remove("v").expect("the field is there")
}

#[track_caller]
fn check(cases: &[(&str, Bson)]) {
    for (text, expected) in cases {
        assert_eq!(value(text), *expected, "{text}");
        // At every distance from the end of the input, because the fast paths need some bytes after
        // the value.
        for padding in 0..20 {
            let padded = format!("{{v:{text}{}}}", " ".repeat(padding));
            assert_eq!(read(&padded), doc! { "v": expected.clone() }, "{padded}");
        }
        let before = format!("[{text},{text} ,\n{text}]");
        assert_eq!(value(&before), Bson::Array(vec![expected.clone(); 3]), "{before}");
    }
}

fn oid() -> Bson {
    ObjectId::parse_str("507f1f77bcf86cd799439011").unwrap().into()
}

fn date(millis: i64) -> Bson {
    DateTime::from_millis(millis).into()
}

fn binary(subtype: u8, bytes: &[u8]) -> Bson {
    Binary { subtype: BinarySubtype::from(subtype), bytes: bytes.to_vec() }.into()
}

fn regex(pattern: &str, options: &str) -> Bson {
    Bson::RegularExpression(Regex {
        pattern: pattern.try_into().unwrap(),
        options: options.try_into().unwrap(),
    })
}

fn decimal(text: &str) -> Bson {
    text.parse::<Decimal128>().unwrap().into()
}

fn uuid() -> Bson {
    let bytes = 0x73ffd264_44b3_4c69_90e8_e7d1dfc035d4_u128.to_be_bytes();
    binary(4, &bytes)
}

#[test]
fn plain_json() {
    check(&[
        ("0", Bson::Int32(0)),
        ("-0", Bson::Int32(0)),
        ("7", Bson::Int32(7)),
        ("-7", Bson::Int32(-7)),
        ("1234567", Bson::Int32(1_234_567)),
        ("12345678", Bson::Int32(12_345_678)),
        ("123456789", Bson::Int32(123_456_789)),
        ("2147483647", Bson::Int32(i32::MAX)),
        ("2147483648", Bson::Int64(2_147_483_648)),
        ("-2147483648", Bson::Int32(i32::MIN)),
        ("-2147483649", Bson::Int64(-2_147_483_649)),
        ("1712345678901", Bson::Int64(1_712_345_678_901)),
        ("123456789012345", Bson::Int64(123_456_789_012_345)),
        ("1234567890123456", Bson::Int64(1_234_567_890_123_456)),
        ("12345678901234567", Bson::Int64(12_345_678_901_234_567)),
        ("9223372036854775807", Bson::Int64(i64::MAX)),
        ("9223372036854775808", Bson::Double(9_223_372_036_854_775_808.0)),
        ("-9223372036854775808", Bson::Int64(i64::MIN)),
        ("-9223372036854775809", Bson::Double(-9_223_372_036_854_775_809.0)),
        ("1.5", Bson::Double(1.5)),
        ("-1.5", Bson::Double(-1.5)),
        ("1.0", Bson::Double(1.0)),
        ("1e3", Bson::Double(1000.0)),
        ("1E+3", Bson::Double(1000.0)),
        ("12.5e-3", Bson::Double(0.0125)),
        ("0.1", Bson::Double(0.1)),
        ("39.99", Bson::Double(39.99)),
        ("-73.98241999999999", Bson::Double(-73.98241999999999)),
        ("57.92947112575566", Bson::Double(57.92947112575566)),
        ("0.000000000000001", Bson::Double(1e-15)),
        ("123456789.123456789", Bson::Double(123_456_789.123_456_79)),
        ("9007199254740993.0", Bson::Double(9_007_199_254_740_992.0)),
        ("5e-324", Bson::Double(5e-324)),
        ("true", Bson::Boolean(true)),
        ("false", Bson::Boolean(false)),
        ("null", Bson::Null),
        ("\"\"", Bson::String(String::new())),
        ("\"a\"", Bson::String("a".into())),
        ("\"sevench\"", Bson::String("sevench".into())),
        ("\"eightchr\"", Bson::String("eightchr".into())),
        ("\"a longer text, of some words\"", Bson::String("a longer text, of some words".into())),
        ("{}", Bson::Document(doc! {})),
        ("[]", Bson::Array(vec![])),
        ("{\"a\": {\"b\": []}}", Bson::Document(doc! { "a": { "b": [] } })),
    ]);
    let Bson::Double(zero) = value("-0.0") else { panic!("not a double") };
    assert!(zero == 0.0 && zero.is_sign_negative());
}

#[test]
fn doubles_are_the_nearest() {
    let mut state = 88_172_645_463_325_252_u64;
    for _ in 0..20_000 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let double = f64::from_bits(state);
        let whole = state % 10_u64.pow((state >> 59) as u32 % 19);
        let places = (state >> 32) as usize % 20;
        let mut texts = vec![format!("{}.{:0places$}", whole, state % 1_000_003)];
        if double.is_finite() {
            texts.push(format!("{double:e}"));
            texts.push(format!("{:.1}", double % 1e15));
        }
        for text in texts {
            let expected: f64 = text.parse().unwrap();
            assert_eq!(value(&text), Bson::Double(expected), "{text}");
        }
    }
}

#[test]
fn strings() {
    let text = |text: &str| Bson::String(text.to_owned());
    check(&[
        (r#""\"\\\/\b\f\n\r\t""#, text("\"\\/\u{8}\u{c}\n\r\t")),
        (r#""\u0041\u00e9\u20AC\ud83d\ude00""#, text("Aé€😀")),
        (r#""x\u0000y""#, text("x\0y")),
        (r#""it's""#, text("it's")),
        (
            r#""line\
        one""#
                .replace("\\\n", "\\n")
                .as_str(),
            text("line\n        one"),
        ),
        ("\"raw\ttab\nand line\"", text("raw\ttab\nand line")),
        ("\"größer, 漢字, 😀\"", text("größer, 漢字, 😀")),
        ("\"é\"", text("é")),
        (
            "\"plain, then é and \\\" and more plain text\"",
            text("plain, then é and \" and more plain text"),
        ),
        ("'single \"quoted\"'", text("single \"quoted\"")),
        ("'it\\'s'", text("it's")),
        ("'\\x41\\v\\0'", text("A\u{b}\0")),
        ("'größer'", text("größer")),
    ]);
}

#[test]
fn names() {
    let document = read(
        r#"{"plain": 1, "": 2, "with \"escape\"": 3, "größer": 4, 'single': 5, bare: 6, _x$1: 7,
            $set: 8, straße: 9, 10: 10, "a.b": 11, "seven_7": 12, "eight__8": 13, "a\u0041": 14}"#,
    );
    let names: Vec<_> = document.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "plain",
            "",
            "with \"escape\"",
            "größer",
            "single",
            "bare",
            "_x$1",
            "$set",
            "straße",
            "10",
            "a.b",
            "seven_7",
            "eight__8",
            "aA"
        ]
    );
    let values: Vec<_> = document.values().filter_map(Bson::as_i32).collect();
    assert_eq!(values, (1..=14).collect::<Vec<_>>());
}

#[test]
fn long_arrays_have_right_indexes() {
    for count in [0, 1, 9, 10, 11, 99, 100, 101, 999, 1000, 12_345] {
        let text = format!("{{\"v\":[{}]}}", vec!["null"; count].join(","));
        let expected = doc! { "v": vec![Bson::Null; count] };
        assert_eq!(parse_one(&text).unwrap(), expected.to_vec().unwrap(), "{count}");
    }
}

#[test]
fn duplicate_names_are_kept() {
    let bytes = parse_one(r#"{"a": 1, "a": 2}"#).unwrap();
    assert_eq!(bytes, b"\x13\0\0\0\x10a\0\x01\0\0\0\x10a\0\x02\0\0\0\0");
}

#[test]
fn extended_json_2() {
    check(&[
        (r#"{"$oid": "507f1f77bcf86cd799439011"}"#, oid()),
        (r#"{"$oid":"507F1F77BCF86CD799439011"}"#, oid()),
        (r#"{"$oid":"507f1f77bcf86cd79943901\u0031"}"#, oid()),
        (r#"{"$date": "2012-12-24T12:15:30.501Z"}"#, date(1_356_351_330_501)),
        (r#"{"$date": {"$numberLong": "1356351330501"}}"#, date(1_356_351_330_501)),
        (r#"{"$date": { "$numberLong" : "-1" , } , }"#, date(-1)),
        (r#"{"$date": {"$numberInt": "5"}}"#, date(5)),
        (r#"{"$numberInt": "-5"}"#, Bson::Int32(-5)),
        (r#"{"$numberInt": 5}"#, Bson::Int32(5)),
        (r#"{"$numberLong": "5"}"#, Bson::Int64(5)),
        (r#"{"$numberLong": 5}"#, Bson::Int64(5)),
        (r#"{"$numberLong": "-9223372036854775808"}"#, Bson::Int64(i64::MIN)),
        (r#"{"$numberDouble": "1.0"}"#, Bson::Double(1.0)),
        (r#"{"$numberDouble": "5"}"#, Bson::Double(5.0)),
        (r#"{"$numberDouble": 5}"#, Bson::Double(5.0)),
        (r#"{"$numberDouble": "Infinity"}"#, Bson::Double(f64::INFINITY)),
        (r#"{"$numberDouble": "-Infinity"}"#, Bson::Double(f64::NEG_INFINITY)),
        (r#"{"$numberDecimal": "1.20"}"#, decimal("1.20")),
        (r#"{"$numberDecimal": "NaN"}"#, decimal("NaN")),
        (r#"{"$binary": {"base64": "//8=", "subType": "80"}}"#, binary(0x80, b"\xFF\xFF")),
        (r#"{"$binary": {"subType": "0", "base64": "AQID"}}"#, binary(0, &[1, 2, 3])),
        (r#"{"$uuid": "73ffd264-44b3-4c69-90e8-e7d1dfc035d4"}"#, uuid()),
        (r#"{"$regularExpression": {"pattern": "a/b", "options": "mi"}}"#, regex("a/b", "im")),
        (r#"{"$regularExpression": {"options": "", "pattern": ""}}"#, regex("", "")),
        (
            r#"{"$timestamp": {"t": 4294967295, "i": 7}}"#,
            Timestamp { time: u32::MAX, increment: 7 }.into(),
        ),
        (
            r#"{"$timestamp": {"i": {"$numberLong": "7"}, "t": 1.0}}"#,
            Timestamp { time: 1, increment: 7 }.into(),
        ),
        (r#"{"$code": "x"}"#, Bson::JavaScriptCode("x".into())),
        (
            r#"{"$code": "x", "$scope": {"a": {"$numberLong": "1"}}}"#,
            JavaScriptCodeWithScope { code: "x".into(), scope: doc! { "a": 1_i64 } }.into(),
        ),
        (
            r#"{"$scope": {}, "$code": "x"}"#,
            JavaScriptCodeWithScope { code: "x".into(), scope: doc! {} }.into(),
        ),
        (r#"{"$symbol": "s"}"#, Bson::Symbol("s".into())),
        (r#"{"$symbol": "größer"}"#, Bson::Symbol("größer".into())),
        (r#"{"$minKey": 1}"#, Bson::MinKey),
        (r#"{"$maxKey": 1}"#, Bson::MaxKey),
        (r#"{"$undefined": true}"#, Bson::Undefined),
        ("{ '$oid' : '507f1f77bcf86cd799439011' }", oid()),
        ("{$oid: '507f1f77bcf86cd799439011'}", oid()),
        ("{ /* c */ $numberLong /* c */ : /* c */ '5' /* c */ }", Bson::Int64(5)),
    ]);
    assert!(matches!(value(r#"{"$numberDouble": "NaN"}"#), Bson::Double(d) if d.is_nan()));
    let pointer = parse_one(
        r#"{"a": {"$dbPointer": {"$ref": "b", "$id": {"$oid": "56e1fc72e0c917e9c4714161"}}}}"#,
    );
    let bytes = b"\x1A\0\0\0\x0Ca\0\x02\0\0\0b\0\x56\xE1\xFC\x72\xE0\xC9\x17\xE9\xC4\x71\x41\x61\0";
    assert_eq!(pointer.unwrap(), bytes);
    // The old binary subtype has an inner length, which `bson` does not show.
    let old = parse_one(r#"{"x": {"$binary": {"base64": "//8=", "subType": "02"}}}"#);
    assert_eq!(old.unwrap(), b"\x13\0\0\0\x05x\0\x06\0\0\0\x02\x02\0\0\0\xFF\xFF\0");
}

#[test]
fn extended_json_1() {
    check(&[
        (r#"{"$date": 1356351330501}"#, date(1_356_351_330_501)),
        (r#"{"$date": 5}"#, date(5)),
        (r#"{"$date": -5.0}"#, date(-5)),
        (r#"{"$date": "2014-01-01T00:00:00.000+0100"}"#, date(1_388_530_800_000)),
        (r#"{"$date": "2014-01-01T00:00:00.000+01:00"}"#, date(1_388_530_800_000)),
        (r#"{"$date": "2014-01-01T00:00:00.000-0700"}"#, date(1_388_559_600_000)),
        (r#"{"$binary": "AQID", "$type": "00"}"#, binary(0, &[1, 2, 3])),
        (r#"{"$binary": "AQID", "$type": 5}"#, binary(5, &[1, 2, 3])),
        (r#"{"$type": "80", "$binary": "AQID"}"#, binary(0x80, &[1, 2, 3])),
        (r#"{"$binary": "AQID", "$type": "ffffff80"}"#, binary(0x80, &[1, 2, 3])),
        (r#"{"$regex": "^a", "$options": "xi"}"#, regex("^a", "ix")),
        (r#"{"$options": "", "$regex": "^a"}"#, regex("^a", "")),
        (r#"{"$timestamp": {"t": 1, "i": 2}}"#, Timestamp { time: 1, increment: 2 }.into()),
        (r#"{"$numberLong": "5"}"#, Bson::Int64(5)),
    ]);
}

#[test]
fn what_only_looks_like_a_typed_value() {
    check(&[
        (r#"{"$regex": "^a"}"#, doc! { "$regex": "^a" }.into()),
        (
            r#"{"$regex": "^a", "$options": "i", "$not": 1}"#,
            doc! { "$regex": "^a", "$options": "i", "$not": 1 }.into(),
        ),
        (r#"{"$regex": /^a/, "$options": "i"}"#, {
            doc! { "$regex": regex("^a", ""), "$options": "i" }.into()
        }),
        (r#"{"$options": "i"}"#, doc! { "$options": "i" }.into()),
        (r#"{"$type": "string"}"#, doc! { "$type": "string" }.into()),
        (r#"{"$type": 2, "$exists": true}"#, doc! { "$type": 2, "$exists": true }.into()),
        (r#"{"$scope": {}}"#, doc! { "$scope": {} }.into()),
        (
            r#"{"$ref": "c", "$id": {"$oid": "507f1f77bcf86cd799439011"}, "$db": "d"}"#,
            doc! { "$ref": "c", "$id": oid(), "$db": "d" }.into(),
        ),
        (r#"{"$gt": 5}"#, doc! { "$gt": 5 }.into()),
        (r#"{"$": 5}"#, doc! { "$": 5 }.into()),
        (r#"{"$\u006fid": 5}"#, doc! { "$oid": 5 }.into()),
        (r#"{"a": 1, "$oid": "x"}"#, doc! { "a": 1, "$oid": "x" }.into()),
    ]);
    // A whole document is never a typed value, whatever its fields are named.
    assert_eq!(read(r#"{"$oid": "x", "$date": 5}"#), doc! { "$oid": "x", "$date": 5 });
}

#[test]
fn shell() {
    let timestamp = || Bson::from(Timestamp { time: 1, increment: 2 });
    check(&[
        ("ObjectId(\"507f1f77bcf86cd799439011\")", oid()),
        ("ObjectId('507f1f77bcf86cd799439011')", oid()),
        ("new ObjectId ( '507f1f77bcf86cd799439011' , )", oid()),
        ("ObjectId(ObjectId('507f1f77bcf86cd799439011'))", oid()),
        ("ISODate(\"2012-12-24T12:15:30.501Z\")", date(1_356_351_330_501)),
        ("ISODate('2012-12-24')", date(1_356_307_200_000)),
        ("new Date(\"2012-12-24T12:15:30.501Z\")", date(1_356_351_330_501)),
        ("new Date(1356351330501)", date(1_356_351_330_501)),
        ("new Date(-1)", date(-1)),
        ("Date(\"2012-12-24\")", date(1_356_307_200_000)),
        ("new Date(ISODate('2012-12-24'))", date(1_356_307_200_000)),
        ("new Date(NumberLong(5))", date(5)),
        ("NumberLong(\"5\")", Bson::Int64(5)),
        ("NumberLong(5)", Bson::Int64(5)),
        ("NumberLong(-9223372036854775808)", Bson::Int64(i64::MIN)),
        ("Long(\"5\")", Bson::Int64(5)),
        ("Long.fromString('5')", Bson::Int64(5)),
        ("NumberInt(5)", Bson::Int32(5)),
        ("NumberInt(\"5\")", Bson::Int32(5)),
        ("Int32(5)", Bson::Int32(5)),
        ("Int32('-5')", Bson::Int32(-5)),
        ("NumberDecimal(\"1.20\")", decimal("1.20")),
        ("NumberDecimal(1.2)", decimal("1.2")),
        ("NumberDecimal(7)", decimal("7")),
        ("Decimal128('1E+3')", decimal("1E+3")),
        ("Double(1.5)", Bson::Double(1.5)),
        ("Double(1)", Bson::Double(1.0)),
        ("Double('1')", Bson::Double(1.0)),
        ("UUID(\"73ffd264-44b3-4c69-90e8-e7d1dfc035d4\")", uuid()),
        ("UUID('73ffd26444b34c6990e8e7d1dfc035d4')", uuid()),
        ("BinData(0,\"AQID\")", binary(0, &[1, 2, 3])),
        ("BinData(128, 'AQID')", binary(128, &[1, 2, 3])),
        ("HexData(5, '010203ff')", binary(5, &[1, 2, 3, 255])),
        ("Binary.createFromBase64('AQID', 0)", binary(0, &[1, 2, 3])),
        ("Binary.createFromBase64(\"AQID\")", binary(0, &[1, 2, 3])),
        ("Timestamp(1, 2)", timestamp()),
        ("Timestamp({t: 1, i: 2})", timestamp()),
        ("new Timestamp({ \"t\" : 1, \"i\" : 2 })", timestamp()),
        ("/^a\\/b[/]$/im", regex("^a\\/b[/]$", "im")),
        ("/größer/", regex("größer", "")),
        ("/a/xi", regex("a", "ix")),
        ("RegExp('a', 'i')", regex("a", "i")),
        ("new RegExp('a')", regex("a", "")),
        ("BSONRegExp(\"a\", \"i\")", regex("a", "i")),
        ("MinKey", Bson::MinKey),
        ("MinKey()", Bson::MinKey),
        ("new MaxKey( )", Bson::MaxKey),
        ("MaxKey", Bson::MaxKey),
        ("undefined", Bson::Undefined),
        ("Infinity", Bson::Double(f64::INFINITY)),
        ("+Infinity", Bson::Double(f64::INFINITY)),
        ("-Infinity", Bson::Double(f64::NEG_INFINITY)),
        ("+5", Bson::Int32(5)),
        (".5", Bson::Double(0.5)),
        ("5.", Bson::Double(5.0)),
        ("Code('x')", Bson::JavaScriptCode("x".into())),
        (
            "Code('x', {a: 1})",
            JavaScriptCodeWithScope { code: "x".into(), scope: doc! { "a": 1 } }.into(),
        ),
        ("BSONSymbol('s')", Bson::Symbol("s".into())),
        (
            "DBRef('c', ObjectId('507f1f77bcf86cd799439011'))",
            doc! { "$ref": "c", "$id": oid() }.into(),
        ),
        ("DBRef(\"c\", 5, 'd')", doc! { "$ref": "c", "$id": 5, "$db": "d" }.into()),
    ]);
    assert!(matches!(value("NaN"), Bson::Double(d) if d.is_nan()));
}

#[test]
fn white_space_comments_and_commas() {
    let expected = doc! { "a": [1, 2], "b": { "c": "// no /* comment" }, "d": Bson::Null };
    let text = "\u{feff}// first\n{ /* a */ a /* b */ : /* c */ [ 1 , /* ] */ 2 , ] , // d }\r\n\
                \t\"b\"\r\n:\r\n{ c : '// no /* comment' , } , d : null /* ** */ , } // last";
    assert_eq!(read(text), expected);
    assert_eq!(read("{}/* after */"), doc! {});
}

#[test]
fn as_mongosh_prints() {
    let text = "{
  _id: ObjectId('507f1f77bcf86cd799439011'),
  name: 'O\\'Brien',
  at: ISODate('2012-12-24T12:15:30.501Z'),
  n: Long('5'),
  'first-name': \"x\",
  list: [ 1, 2.5, null, undefined, /a/i ],
  nested: { min: MinKey(), id: UUID('73ffd264-44b3-4c69-90e8-e7d1dfc035d4') }
}";
    let expected = doc! {
        "_id": oid(), "name": "O'Brien", "at": date(1_356_351_330_501), "n": 5_i64,
        "first-name": "x", "list": [1, 2.5, Bson::Null, Bson::Undefined, regex("a", "i")],
        "nested": { "min": Bson::MinKey, "id": uuid() },
    };
    assert_eq!(read(text), expected);
}

#[test]
fn levels_up_to_the_limit() {
    let deep = |levels: usize| {
        format!("{}{}", "{\"a\":".repeat(levels - 1) + "{}", "}".repeat(levels - 1))
    };
    assert!(decode(&parse_one(&deep(200)).unwrap()).contains_key("a"));
    assert!(parse_one(&deep(201)).is_err());
    for (open, close) in [("[", "]"), ("{\"$date\":", "}"), ("ObjectId(", ")"), ("{a:", "}")] {
        let text = format!("{{a:{}1{}}}", open.repeat(100_000), close.repeat(100_000));
        assert!(parse_one(&text).is_err());
    }
}

//! Invalid input of every kind. Nothing panics, problems have positions, and the output is always a
//! schema.

use crate::common::{FIXTURES, all_compile, field};
use docward_code::{Imported, Kind, Problem, read};
use proptest::prelude::*;
use serde_json::json;

/// Reads a text and checks what must hold for any text.
fn checked(kind: Kind, text: &str) -> Imported {
    let imported = read(kind, text);
    all_compile(&imported);
    let lines = u32::try_from(text.split('\n').count()).expect("few lines");
    for problem in &imported.problems {
        assert!(problem.line >= 1 && problem.line <= lines && problem.column >= 1, "{problem:?}");
    }
    for model in &imported.models {
        let places = model.fields.values().chain(model.left_out.iter().map(|one| &one.place));
        for place in places.chain([&model.declared_at]) {
            assert!(place.line >= 1 && place.line <= lines && place.column >= 1, "{place:?}");
        }
    }
    imported
}

#[test]
fn nothing_is_read_out_of_nothing() {
    for kind in Kind::ALL {
        for text in ["", " ", "\n\n", "\u{feff}"] {
            assert_eq!(checked(kind, text).models, [], "{kind:?} {text:?}");
        }
    }
}

#[test]
fn bytes_that_are_no_text_are_survived() {
    let bytes: Vec<u8> = (0..=255).cycle().take(5000).collect();
    let text = String::from_utf8_lossy(&bytes);
    for kind in Kind::ALL {
        assert!(!checked(kind, &text).problems.is_empty(), "{kind:?}");
        checked(kind, &"\0".repeat(1000));
    }
}

#[test]
fn ten_thousand_brackets_are_survived() {
    for kind in Kind::ALL {
        for (open, close) in
            [("[", "]"), ("{", "}"), ("(", ")"), ("<", ">"), ("{\"a\":", "}"), ("[]", "")]
        {
            let open = open.repeat(10_000);
            checked(kind, &open);
            checked(kind, &format!("{open}{}", close.repeat(10_000)));
            let inside = match kind {
                Kind::Mongoose => {
                    format!("model('A', new Schema({{ a: {open}{} }}))", close.repeat(10_000))
                }
                Kind::Prisma => format!("model A {{\n a Int @default({open})\n}}"),
                Kind::Pydantic => {
                    format!("class A(BaseModel):\n    a: {open}{}\n", close.repeat(10_000))
                }
                Kind::Go => format!("type A struct {{\n A {open}int\n}}"),
                Kind::Spring => format!("class A {{ int{open}{} a; }}", close.repeat(10_000)),
                Kind::Php => format!(
                    "<?php use MongoDB\\Laravel\\Eloquent\\Model; class A extends Model {{ protected $casts = ['a' => {open}{}]; }}",
                    close.repeat(10_000)
                ),
                Kind::CSharp => format!(
                    "class A {{ [BsonElement(\"a\")] public int{open}{} a {{ get; set; }} }}",
                    close.repeat(10_000)
                ),
                Kind::JsonSchema => format!("{{\"enum\": {open}{}}}", close.repeat(10_000)),
            };
            checked(kind, &inside);
        }
    }
}

#[test]
fn deep_and_wide_declarations_end() {
    let deep = format!(
        "model('A', new Schema({{ {}a: String{} }}))",
        "a: { ".repeat(200),
        " }".repeat(200)
    );
    let model = &checked(Kind::Mongoose, &deep).models[0];
    assert!(model.left_out.iter().any(|one| one.why == "nested too deeply"));
    // Every class contains the next one ten times, which makes 10^30 fields.
    let mut wide = String::new();
    for n in 0..30 {
        wide.push_str(&format!("class C{n}(BaseModel):\n"));
        for m in 0..10 {
            wide.push_str(&format!("    f{m}: 'C{}'\n", n + 1));
        }
    }
    let models = checked(Kind::Pydantic, &wide).models;
    assert!(models[0].left_out.iter().any(|one| one.loosens));
    let mut refs = String::from("{\"$ref\":\"#/$defs/a0\",\"$defs\":{");
    for n in 0..30 {
        let next = format!("{{\"$ref\":\"#/$defs/a{}\"}}", n + 1);
        refs.push_str(&format!("\"a{n}\":{{\"allOf\":[{}]}},", vec![next; 10].join(",")));
    }
    refs.push_str("\"a30\":true}}");
    checked(Kind::JsonSchema, &refs);
}

#[test]
fn parsers_that_find_no_end_are_stopped() {
    // This damaged text makes the TSX parser try to recover without end.
    checked(Kind::Mongoose, include_str!("fixtures/endless.ts.txt"));
}

#[test]
fn declarations_that_lead_in_circles_end() {
    let chain = format!("const s = new Schema({{}}); s.path('a'){};", ".validate(f)".repeat(5_000));
    checked(Kind::Mongoose, &chain);
    let circle = "enum E { A = E.A, B = F.B }\nenum F { B = E.B }\nconst C = { x: C.x, ...C };\n\
                  model('A', new Schema({ a: { type: String, enum: E }, b: { type: Number, min: C.x }, ...C }));";
    checked(Kind::Mongoose, circle);
    let mut bases = String::from("class C0(BaseModel):\n    a: int\n");
    for n in 1..40 {
        bases.push_str(&format!(
            "class C{n}({}):\n    pass\n",
            vec![format!("C{}", n - 1); 10].join(", ")
        ));
    }
    bases.push_str("class D(E):\n    a: int\nclass E(D):\n    b: int\n");
    let models = checked(Kind::Pydantic, &bases).models;
    assert!(models.iter().all(|model| model.fields.contains_key("a")));
    checked(Kind::Go, "type A B\ntype B A\ntype C struct {\n A A\n C `bson:\",inline\"`\n}");
    checked(Kind::Spring, "@Document class A extends B { A a; }\nclass B extends A { B b; }");
    checked(
        Kind::CSharp,
        "[BsonIgnoreExtraElements] class A : B { public A X { get; set; } }\nclass B : A { public B Y { get; set; } }",
    );
    checked(
        Kind::Php,
        "<?php use Doctrine\\ODM\\MongoDB\\Mapping\\Annotations as ODM;\n#[ODM\\Document] class A extends B { #[ODM\\EmbedOne(targetDocument: A::class)] public $a; }\n#[ODM\\EmbeddedDocument] class B extends A {}",
    );
    checked(Kind::Prisma, "model A {\n b B\n}\ntype B {\n c C[]\n}\ntype C {\n b B?\n}");
    let mut seen =
        String::from("{\"$ref\":\"#/$defs/a0\",\"unevaluatedProperties\":false,\"$defs\":{");
    for n in 0..30 {
        let next = format!("{{\"$ref\":\"#/$defs/a{}\"}}", (n + 1) % 30);
        seen.push_str(&format!("\"a{n}\":{{\"allOf\":[{}]}},", vec![next; 10].join(",")));
    }
    seen.push_str("\"z\":true}}");
    checked(Kind::JsonSchema, &seen);
}

#[test]
fn a_mistake_has_a_place_and_the_rest_is_read() {
    for (kind, text, line) in [
        (
            Kind::Mongoose,
            "const a = new Schema({ x: String });\nmodel('A', a);\nconst = ;;\nmodel('B', new Schema({ y: Number }));\n",
            3,
        ),
        (
            Kind::Pydantic,
            "class A(BaseModel):\n    x: str\n\n= = 3\n\nclass B(BaseModel):\n    y: int\n",
            4,
        ),
        (
            Kind::Go,
            "package p\ntype A struct {\n X string `bson:\"x\"`\n}\nfunc ) {\n}\ntype B struct {\n Y int `bson:\"y\"`\n}\n",
            5,
        ),
        (
            Kind::Spring,
            "@Document class A { String x; }\nint int = ;\n@Document class B { int y; }\n",
            2,
        ),
        (Kind::Prisma, "model A {\n x String\n}\n!!\nmodel B {\n y Int\n}\n", 4),
        (
            Kind::CSharp,
            "public class A { public ObjectId x { get; set; } }\nint int = ;\npublic class B { [BsonElement(\"y\")] public int Y { get; set; } }\n",
            2,
        ),
        (
            Kind::Php,
            "<?php use MongoDB\\Laravel\\Eloquent\\Model;\nclass A extends Model { protected $casts = ['x' => 'int']; }\n$a = = 1;\nclass B extends Model { protected $casts = ['y' => 'int']; }\n",
            3,
        ),
    ] {
        let imported = checked(kind, text);
        let lines: Vec<u32> = imported.problems.iter().map(|problem| problem.line).collect();
        assert!(lines.contains(&line), "{kind:?}: {:?}", imported.problems);
        let names: Vec<&str> = imported.models.iter().map(|model| model.name.as_str()).collect();
        assert_eq!(names, ["A", "B"], "{kind:?}");
        assert_ne!(field(&imported.models[1], "y"), json!(null), "{kind:?}");
    }
    let broken = checked(Kind::JsonSchema, "{\n  \"type\": \"object\",\n  \"properties\": }\n");
    assert_eq!((broken.problems[0].line, broken.problems[0].column), (3, 17));
}

/// BSON ends a name at a null character, so no document can have such a field.
#[test]
fn a_name_with_a_null_character_is_a_problem_with_a_place() {
    for (kind, text, at, name) in [
        (Kind::Mongoose, "model('A', new Schema({\n 'b\0c': String }))", (2, 2), "b\\0c"),
        (
            Kind::Mongoose,
            "model('A', new Schema({ x: String }, {\n timestamps: { createdAt: 'b\0c' } }))",
            (2, 14),
            "b\\0c",
        ),
        (
            Kind::Mongoose,
            "model('A', new Schema({ x: String }, {\n versionKey: 'b\0c' }))",
            (2, 14),
            "b\\0c",
        ),
        (
            Kind::Mongoose,
            "const a = new Schema({ x: String }, {\n discriminatorKey: 'b\0c' });\n\
             const A = model('A', a);\nA.discriminator('B', new Schema({ y: String }));",
            (2, 20),
            "b\\0c",
        ),
        (
            Kind::Mongoose,
            "@Schema()\nclass A {\n @Prop()\n 'b\0c': string;\n}\nSchemaFactory.createForClass(A);",
            (4, 2),
            "'b\\0c'",
        ),
        (Kind::Prisma, "model A {\n x String @map(\"b\0c\")\n}\n", (2, 2), "b\\0c"),
        (Kind::JsonSchema, "{\"properties\": {\n \"b\\u0000c\": {}}}", (2, 2), "b\\0c"),
    ] {
        let imported = checked(kind, text);
        let why = "MongoDB does not allow a null character in a field name";
        let message = format!("field `{name}`: {why}");
        let expected = Problem { line: at.0, column: at.1, message };
        let problems = &imported.problems;
        assert!(problems.contains(&expected), "{text:?}: {problems:?}");
        let left = imported.models.iter().flat_map(|model| &model.left_out);
        assert!(left.clone().any(|left| left.what == name && left.loosens), "{text:?}");
        let paths = imported.models.iter().flat_map(|model| model.fields.keys());
        let mut said = paths.chain(left.map(|left| &left.path));
        assert!(said.all(|path| !path.contains('\0')), "{text:?}");
    }
    // Other languages may not accept such a text at all.
    for (kind, text) in [
        (Kind::Pydantic, "class A(BaseModel):\n    x: str = Field(alias='b\0c')\n"),
        (Kind::Go, "type A struct {\n X string `bson:\"b\0c\"`\n}\n"),
        (Kind::Spring, "@Document class A {\n @Field(\"b\0c\") String x; }\n"),
        (
            Kind::Spring,
            "@Document class A {\n @Unwrapped(prefix = \"b\0\") P p; }\nclass P { int c; }\n",
        ),
        (Kind::CSharp, "class A {\n [BsonElement(\"b\0c\")] public string X { get; set; } }\n"),
        // Escapes, in each language's own notation.
        (Kind::Mongoose, "model('A', new Schema({\n 'b\\x00c': String }))"),
        (Kind::Pydantic, "class A(BaseModel):\n    x: str = Field(alias='b\\x00c')\n"),
        (Kind::Go, "type A struct {\n X string `bson:\"b\\x00c\"`\n}\n"),
        (Kind::Spring, "@Document class A {\n @Field(\"b\\0c\") String x; }\n"),
        (Kind::Spring, "@Document class A {\n @Field(\"b\\u0000c\") String x; }\n"),
        (
            Kind::CSharp,
            "class A {\n [BsonElement(\"b\\u0000c\")] public string X { get; set; } }\n",
        ),
        (
            Kind::Php,
            "<?php use Doctrine\\ODM\\MongoDB\\Mapping\\Annotations as ODM; #[ODM\\Document] class A {\n #[ODM\\Field(name: \"b\\x00c\", type: 'string')] private $n; }\n",
        ),
        (
            Kind::Php,
            "<?php use MongoDB\\Laravel\\Eloquent\\Model; class A extends Model { protected $casts = [\n 'b\0c' => 'int']; }\n",
        ),
    ] {
        let problems = checked(kind, text).problems;
        assert!(problems.iter().any(|problem| problem.line == 2), "{text:?}: {problems:?}");
    }
}

/// Truncates a file at every position. Schemas are compiled only at line ends.
fn cut(wanted: impl Fn(Kind) -> bool) {
    for (kind, _, text) in FIXTURES.into_iter().filter(|(kind, ..)| wanted(*kind)) {
        for (at, c) in text.char_indices() {
            if c == '\n' {
                checked(kind, &text[..at]);
            } else {
                read(kind, &text[..at]);
            }
        }
    }
}

#[test]
fn scripts_cut_anywhere_are_survived() {
    cut(|kind| kind == Kind::Mongoose);
}

#[test]
fn other_files_cut_anywhere_are_survived() {
    cut(|kind| kind != Kind::Mongoose);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn changed_bytes_are_survived(
        fixture in 0..FIXTURES.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
    ) {
        let (kind, _, text) = FIXTURES[fixture];
        let mut bytes = text.as_bytes().to_vec();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        checked(kind, &String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn pieces_in_any_order_are_survived(
        fixture in 0..FIXTURES.len(),
        pieces in prop::collection::vec((any::<prop::sample::Index>(), 1..60_usize), 1..30),
    ) {
        let (kind, _, text) = FIXTURES[fixture];
        let chars: Vec<char> = text.chars().collect();
        let mut mixed = String::new();
        for (at, length) in pieces {
            let at = at.index(chars.len());
            mixed.extend(&chars[at..(at + length).min(chars.len())]);
        }
        checked(kind, &mixed);
    }

    #[test]
    fn any_json_is_survived(keys in prop::collection::vec(0..KEYS.len(), 1..12), values in prop::collection::vec(0..VALUES.len(), 12)) {
        let mut text = String::from("{");
        for (n, (key, value)) in keys.iter().zip(&values).enumerate() {
            let comma = if n > 0 { "," } else { "" };
            text.push_str(&format!("{comma}\"{}\":{}", KEYS[*key], VALUES[*value]));
        }
        text.push('}');
        checked(Kind::JsonSchema, &text);
        checked(Kind::JsonSchema, &format!("{{\"properties\":{{\"a\":{text},\"b\":{{\"items\":{text}}}}}}}"));
    }
}

const KEYS: [&str; 40] = [
    "type",
    "bsonType",
    "enum",
    "const",
    "multipleOf",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "uniqueItems",
    "pattern",
    "required",
    "properties",
    "patternProperties",
    "additionalProperties",
    "propertyNames",
    "unevaluatedProperties",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "items",
    "prefixItems",
    "additionalItems",
    "contains",
    "minContains",
    "unevaluatedItems",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "$ref",
    "title",
];
const VALUES: [&str; 31] = [
    "true",
    "false",
    "null",
    "0",
    "1",
    "-1",
    "2.5",
    "1e300",
    "1e-300",
    "18446744073709551615",
    "\"\"",
    "\"a\"",
    "\"string\"",
    "\"integer\"",
    "\"#\"",
    "\"(\"",
    "[]",
    "[\"a\",\"a\"]",
    "[1,1.0]",
    "[null]",
    "[\"integer\",\"number\"]",
    "[{}]",
    "[true,false]",
    "[{\"minimum\":1},{\"a\\u0000\":1}]",
    "{}",
    "{\"a\":1}",
    "{\"a\":{\"type\":\"string\"},\"b.c\":true,\"\":{}}",
    "{\"a\":[\"b\",\"b\",\"\"]}",
    "{\"(\":{},\"^x\":false}",
    "{\"pattern\":\"[\",\"enum\":[]}",
    "{\"a\\u0000b\":{}}",
];

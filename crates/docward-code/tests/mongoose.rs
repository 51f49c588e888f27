//! Tests Mongoose types and options.

use crate::common::{field, left_out, one, plain_document, required};
use docward_code::{Kind, Model, read};
use serde_json::{Value, json};

#[track_caller]
fn model(fields: &str, options: &str) -> Model {
    let text = format!(
        "const {{ Schema, model }} = require('mongoose');\n\
         const s = new Schema({{ {fields} }}, {{ {options} }});\nmodel('Thing', s);\n"
    );
    one(Kind::Mongoose, &text)
}

#[track_caller]
fn declared(declaration: &str) -> Value {
    field(&model(&format!("f: {declaration}"), ""), "f")
}

#[test]
fn types_are_what_the_driver_writes() {
    for (declaration, expect) in [
        ("String", json!(["string", "null"])),
        ("'string'", json!(["string", "null"])),
        ("Number", json!(["int", "long", "double", "null"])),
        ("Date", json!(["date", "null"])),
        ("Boolean", json!(["bool", "null"])),
        ("Schema.Types.Boolean", json!(["bool", "null"])),
        ("Schema.Types.ObjectId", json!(["objectId", "null"])),
        ("Schema.ObjectId", json!(["objectId", "null"])),
        ("mongoose.Types.ObjectId", json!(["objectId", "null"])),
        ("Buffer", json!(["binData", "null"])),
        ("Schema.Types.UUID", json!(["binData", "null"])),
        ("Schema.Types.Decimal128", json!(["decimal", "null"])),
        ("BigInt", json!(["long", "null"])),
        ("Schema.Types.Int32", json!(["int", "null"])),
        ("Schema.Types.Double", json!(["double", "null"])),
        ("Map", json!(["object", "null"])),
        ("Array", json!(["array", "null"])),
        ("[]", json!(["array", "null"])),
    ] {
        assert_eq!(declared(declaration), json!({ "bsonType": expect }), "{declaration}");
        let long = format!("{{ type: {declaration} }}");
        assert_eq!(declared(&long), json!({ "bsonType": expect }), "{long}");
    }
    for declaration in
        ["Schema.Types.Mixed", "Object", "{}", "{ type: Object }", "{ type: 'Mixed' }"]
    {
        assert_eq!(declared(declaration), json!({}), "{declaration}");
    }
}

#[test]
fn options_become_keywords() {
    let string = json!(["string", "null"]);
    let number = json!(["int", "long", "double", "null"]);
    for (declaration, expect) in [
        ("{ type: String, required: true }", json!({ "bsonType": "string", "minLength": 1 })),
        (
            "{ type: String, required: [true, 'why'] }",
            json!({ "bsonType": "string", "minLength": 1 }),
        ),
        ("{ type: String, required: 'why' }", json!({ "bsonType": "string", "minLength": 1 })),
        ("{ type: String, required: false }", json!({ "bsonType": string })),
        (
            "{ type: String, minlength: 2, maxLength: [5, 'long'] }",
            json!({ "bsonType": string, "minLength": 2, "maxLength": 5 }),
        ),
        (
            "{ type: String, enum: ['a', 'b', 'a'] }",
            json!({ "bsonType": string, "enum": ["a", "b", null] }),
        ),
        (
            "{ type: String, enum: { values: ['a'], message: 'no' }, required: true }",
            json!({ "bsonType": "string", "enum": ["a"] }),
        ),
        (
            "{ type: Number, enum: [1, 2.5, -3] }",
            json!({ "bsonType": number, "enum": [1, 2.5, -3, null] }),
        ),
        (
            "{ type: Number, min: 0, max: [1e3, 'big'] }",
            json!({ "bsonType": number, "minimum": 0, "maximum": 1000.0 }),
        ),
        ("{ type: Number, min: -1.5 }", json!({ "bsonType": number, "minimum": -1.5 })),
        (
            "{ type: String, match: /^a\\/b$/i }",
            json!({ "bsonType": string, "pattern": "(?i)^$|^a/b$" }),
        ),
        ("{ type: String, match: [/x/, 'no'] }", json!({ "bsonType": string, "pattern": "^$|x" })),
        (
            "{ type: String, trim: true, lowercase: true, index: true, select: false }",
            json!({ "bsonType": string }),
        ),
        ("[String]", json!({ "bsonType": ["array", "null"], "items": { "bsonType": string } })),
        (
            "[{ type: String, required: true }]",
            json!({ "bsonType": ["array", "null"], "items": { "bsonType": "string", "minLength": 1 } }),
        ),
        (
            "{ type: [Number], required: true }",
            json!({ "bsonType": "array", "items": { "bsonType": number } }),
        ),
        (
            "{ type: Map, of: Number }",
            json!({ "bsonType": ["object", "null"], "additionalProperties": { "bsonType": number } }),
        ),
        (
            "[{ a: String }]",
            json!({ "bsonType": ["array", "null"], "items": { "bsonType": ["object", "null"],
                "properties": { "_id": { "bsonType": "objectId" }, "a": { "bsonType": string } } } }),
        ),
        (
            "new Schema({ a: String }, { _id: false })",
            json!({ "bsonType": ["object", "null"], "properties": { "a": { "bsonType": string } } }),
        ),
        (
            "{ type: { type: String } }",
            json!({ "bsonType": ["object", "null"], "properties": { "type": { "bsonType": string } } }),
        ),
    ] {
        assert_eq!(declared(declaration), expect, "{declaration}");
    }
}

#[test]
fn what_a_schema_cannot_say_is_listed() {
    for (declaration, expect) in [
        ("{ type: String, required() { return true } }", "required: required() { return true }"),
        ("{ type: String, required: () => true }", "required: () => true"),
        ("{ type: String, validate: isEmail }", "validate: isEmail"),
        ("{ type: String, default: 'x' }", "default: 'x'"),
        ("{ type: Schema.Types.ObjectId, ref: 'User' }", "ref: 'User'"),
        ("{ type: String, unique: true }", "unique: true"),
        ("{ type: Date, min: '2020-01-01' }", "min: '2020-01-01'"),
        ("{ type: String, enum: COLOURS }", "enum: COLOURS"),
        ("{ type: String, match: pattern }", "match: pattern"),
        ("{ type: String, match: /(?<=a+)b/ }", "match: /(?<=a+)b/"),
        ("{ type: Number, min: LOWEST }", "min: LOWEST"),
        ("Money", "Money"),
        ("require('./money')", "require('./money')"),
    ] {
        let model = model(&format!("f: {declaration}"), "");
        assert_eq!(left_out(&model, "f"), [expect], "{declaration}");
    }
}

#[test]
fn options_of_schemas_are_read() {
    let names = |options: &str| {
        let model = model("a: String", options);
        let properties = model.schema.get_document("properties").unwrap();
        properties.keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(names(""), ["_id", "a", "__v"]);
    assert_eq!(names("versionKey: false"), ["_id", "a"]);
    assert_eq!(names("versionKey: 'rev'"), ["_id", "a", "rev"]);
    assert_eq!(
        names("timestamps: true, versionKey: false"),
        ["_id", "a", "createdAt", "updatedAt"]
    );
    assert_eq!(
        names("timestamps: { createdAt: 'made', updatedAt: false }, versionKey: false"),
        ["_id", "a", "made"]
    );
    for (options, closed) in [("", false), ("strict: true", false), ("strict: 'throw'", true)] {
        let model = model("a: String", options);
        assert_eq!(model.schema.contains_key("additionalProperties"), closed, "{options}");
    }
}

#[test]
fn collections_are_named_by_argument_option_and_model() {
    for (text, expect) in [
        ("mongoose.model('User', new mongoose.Schema({}))", "users"),
        ("mongoose.model('User', new mongoose.Schema({}, { collection: 'people' }))", "people"),
        ("mongoose.model('User', new mongoose.Schema({}, { collection: 'a' }), 'b')", "b"),
        ("const s = new Schema({}); s.set('collection', 'c'); connection.model('User', s)", "c"),
        ("export default models.User || model<IUser>('User', new Schema<IUser>({}))", "users"),
    ] {
        assert_eq!(one(Kind::Mongoose, text).collection.as_deref(), Some(expect), "{text}");
    }
    let exported = one(Kind::Mongoose, "export const userSchema = new Schema({ a: String });");
    assert_eq!((exported.name.as_str(), exported.collection), ("user", None));
}

#[test]
fn required_fields_of_nested_objects_are_required_all_the_way() {
    let model = model("a: { b: { c: { type: String, required: true } } }, d: { e: String }", "");
    assert_eq!(required(&model), ["a"]);
    assert_eq!(field(&model, "a")["required"], json!(["b"]));
    assert_eq!(field(&model, "a.b")["required"], json!(["c"]));
    assert_eq!(field(&model, "d")["bsonType"], json!(["object", "null"]));
}

#[test]
fn schemas_that_hold_themselves_end_somewhere() {
    let text =
        "const s = new Schema({ name: String });\ns.add({ children: [s] });\nmodel('Node', s);";
    let model = one(Kind::Mongoose, text);
    let inner = field(&model, "children[]");
    assert_eq!(inner["properties"]["children"]["items"], json!({ "bsonType": ["object", "null"] }));
    assert_eq!(left_out(&model, "children[].children[]"), ["s"]);
    let cyclic = "const a = b; const b = a; model('X', new Schema({ f: a }));";
    assert_eq!(left_out(&one(Kind::Mongoose, cyclic), "f"), ["a"]);
}

#[test]
fn names_lead_to_what_they_stand_for() {
    let text = "const kinds = ['a', 'b'];\nconst common = { kind: { type: String, enum: [...kinds, 'c'] } };\n\
                const MAX = 10;\nconst fields = { ...common, n: { type: Number, max: MAX }, ...elsewhere };\n\
                export const Thing = model('Thing', new Schema(fields));";
    let model = one(Kind::Mongoose, text);
    assert_eq!(field(&model, "kind")["enum"], json!(["a", "b", "c", null]));
    assert_eq!(field(&model, "n")["maximum"], json!(10));
    assert_eq!(left_out(&model, ""), ["...elsewhere"]);
}

#[test]
fn virtuals_plugins_and_kinds_of_elsewhere_are_listed() {
    let text = "const s = new Schema({ a: String }, { strict: 'throw' });\n\
                s.virtual('b').get(() => 1);\ns.plugin(paginate);\ns.path('a').validate(check);\n\
                const Base = model('Base', s);\nBase.discriminator('Special', specialSchema);";
    let model = one(Kind::Mongoose, text);
    let all: Vec<&str> = model.left_out.iter().map(|one| one.what.as_str()).collect();
    assert_eq!(all, ["virtual('b')", "plugin(paginate)", "validate", "discriminator('Special')"]);
    assert!(!model.schema.contains_key("additionalProperties"));
}

#[test]
fn kinds_of_documents_are_branches() {
    // The variable and the model have different names. A kind may define its stored name.
    let text = "const s = new Schema({ at: { type: Date, required: true }, url: Number }, { strict: 'throw', discriminatorKey: 'kind' });\n\
                const EventModel = model('Event', s);\n\
                const clickSchema = new Schema({ x: { type: Number, required: true } }, { strict: 'throw' });\n\
                EventModel.discriminator('Click', clickSchema, 'click');\n\
                EventModel.discriminator('Page', new Schema({ url: String }), { value: 'page', clone: false });";
    let model = one(Kind::Mongoose, text);
    let schema = plain_document(&model.schema);
    assert_eq!(schema["required"], json!(["at"]));
    assert!(schema.get("additionalProperties").is_none());
    assert!(schema["properties"].get("url").is_none(), "the kind says something else of it");
    let branches = schema["anyOf"].as_array().unwrap();
    assert_eq!(branches.len(), 3);
    assert_eq!(branches[0]["required"], json!(["kind", "x"]));
    assert_eq!(branches[0]["properties"]["kind"], json!({ "enum": ["click"] }));
    assert!(branches[0].get("additionalProperties").is_none());
    assert_eq!(branches[1]["properties"]["url"], json!({ "bsonType": ["string", "null"] }));
    assert_eq!(
        branches[2],
        json!({ "properties": { "kind": { "not": { "enum": ["click", "page"] } } } })
    );
    assert_eq!(left_out(&model, "url"), ["url"]);

    // Kinds of a schema, kinds of list elements, and kinds under Mongoose's default field name.
    let text = "const e = new Schema({ a: String }, { strict: 'throw' });\n\
                const s = new Schema({ list: [e] });\n\
                s.path('list').discriminator('Odd', new Schema({ b: String }));\n\
                s.discriminator('Big', new Schema({ size: Number }));\nexport default model('Thing', s);";
    let model = one(Kind::Mongoose, text);
    assert_eq!(left_out(&model, "list"), ["discriminator('Odd')"]);
    assert!(field(&model, "list[]").get("additionalProperties").is_none());
    let schema = plain_document(&model.schema);
    assert_eq!(schema["anyOf"][0]["properties"]["__t"], json!({ "enum": ["Big"] }));
}

#[test]
fn kinds_are_found_where_they_are_written() {
    let text = "const Special = model('Base', new Schema({ a: String }, { strict: 'throw' }))\n\
                .discriminator('Special', new Schema({ b: { type: Number, required: true } }));";
    let model = one(Kind::Mongoose, text);
    let schema = plain_document(&model.schema);
    assert_eq!(schema["anyOf"][0]["required"], json!(["__t", "b"]));

    // A schema with a discriminator key has kinds, even if other files declare them.
    let plain = "export const s = new Schema({ a: String }, { strict: 'throw', discriminatorKey: 'kind' });";
    let nest = "@Schema({ strict: 'throw', discriminatorKey: 'kind' })\nexport class Event { @Prop() a: string; }";
    for text in [plain, nest] {
        let model = one(Kind::Mongoose, text);
        assert!(!model.schema.contains_key("additionalProperties"), "{text}");
        assert_eq!(left_out(&model, ""), ["discriminatorKey"], "{text}");
    }
}

#[test]
fn copies_of_schemas_have_what_was_said_before() {
    let text = "const base = new Schema({ a: { type: String, required: true } }, { collection: 'bases' });\n\
                base.add({ b: Number });\nconst other = base.clone();\nother.add({ c: Date });\n\
                base.add({ late: Number });\nother.set('collection', 'others');\n\
                model('Base', base);\nmodel('Other', other);\nmodel('Third', base.clone().clone());";
    let models = read(Kind::Mongoose, text).models;
    let names = |at: usize| -> Vec<String> {
        plain_document(&models[at].schema)["properties"]
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect()
    };
    assert_eq!(models.len(), 3);
    assert_eq!(names(0), ["_id", "a", "b", "late", "__v"]);
    assert_eq!(names(1), ["_id", "a", "b", "c", "__v"]);
    assert_eq!(names(2), ["_id", "a", "b", "late", "__v"]);
    let collections: Vec<_> = models.iter().map(|model| model.collection.as_deref()).collect();
    assert_eq!(collections, [Some("bases"), Some("others"), Some("bases")]);
    // A variable that refers to itself has no schema.
    assert_eq!(read(Kind::Mongoose, "const a = a.clone(); model('A', a);").models, []);
}

#[test]
fn what_is_declared_last_counts() {
    let text = "const s = new Schema({ name: { type: String, required: true }, n: { type: Number, min: 5, max: 9 },\n\
                old: { type: String, required: true }, deep: { a: { type: String, required: true } } });\n\
                s.remove('old'); s.remove(['deep.a']);\ns.add({ name: String });\n\
                s.path('n').min(1);\ns.path('deep', Number);\nmodel('Thing', s);";
    let model = one(Kind::Mongoose, text);
    assert_eq!(required(&model), [""; 0]);
    assert!(plain_document(&model.schema)["properties"].get("old").is_none());
    assert_eq!(field(&model, "n").get("minimum"), None);
    assert_eq!(field(&model, "n")["maximum"], json!(9));
    assert_eq!(field(&model, "deep")["bsonType"], json!(["int", "long", "double", "null"]));
    // A kind with its own `_id`.
    let text = "const B = model('B', new Schema({ a: String }));\n\
                B.discriminator('K', new Schema({ _id: String, b: Number }));";
    let model = one(Kind::Mongoose, text);
    assert!(plain_document(&model.schema)["properties"].get("_id").is_none());
}

#[test]
fn calls_in_a_chain_give_the_schema_back() {
    let text = "const s = new Schema({ a: String }).index({ a: 1 }).add({ b: Number });\n\
                model('One', s);\nmodel('Two', s.clone().set('collection', 'seconds'));\n\
                model('Some', s.pick(['a']));\nmodel('Three', new Schema({ c: Date }).plugin(paginate));";
    let models = read(Kind::Mongoose, text).models;
    let told: Vec<(&str, Option<&str>)> =
        models.iter().map(|model| (model.name.as_str(), model.collection.as_deref())).collect();
    assert_eq!(told.len(), 4, "{told:?}");
    let named = |name: &str| models.iter().find(|model| model.name == name).unwrap();
    assert_eq!(named("Two").collection.as_deref(), Some("seconds"));
    assert!(plain_document(&named("One").schema)["properties"].get("b").is_some());
    assert_eq!(left_out(named("Some"), ""), ["the fields"]);
    assert_eq!(left_out(named("Three"), ""), ["plugin(paginate)"]);
}

#[test]
fn what_is_said_of_a_path_counts() {
    let text = "const s = new Schema({ name: String, kind: { type: String, enum: ['a', 'b'] }, size: { w: Number },\n\
                note: { type: String, required: true }, sku: String, n: Number });\n\
                s.path('name').required(true, 'give a name');\ns.path('kind').required();\n\
                s.path('size.w').required(true);\ns.path('note').required(false);\n\
                s.path('sku').required(needsSku);\ns.path('n').min(3).required(true);\n\
                s.path('nobody').required(true);\nmodule.exports = model('Thing', s);";
    let model = one(Kind::Mongoose, text);
    let required: Vec<&str> =
        model.schema.get_array("required").unwrap().iter().map(|n| n.as_str().unwrap()).collect();
    assert_eq!(required, ["name", "kind", "size", "n"]);
    assert_eq!(field(&model, "size")["required"], json!(["w"]));
    assert_eq!(field(&model, "name"), json!({ "bsonType": "string", "minLength": 1 }));
    assert_eq!(field(&model, "kind")["enum"], json!(["a", "b"]));
    assert_eq!(field(&model, "note")["bsonType"], json!(["string", "null"]));
    assert_eq!(field(&model, "sku")["bsonType"], json!(["string", "null"]));
    assert_eq!(left_out(&model, "sku"), ["required(needsSku)"]);
    assert_eq!(left_out(&model, "n"), ["min(3)"]);
}

#[test]
fn a_lookup_of_a_model_is_no_declaration() {
    assert_eq!(read(Kind::Mongoose, "const User = mongoose.model('User');").models, []);
    assert_eq!(
        read(Kind::Mongoose, "const Joi = require('joi'); Joi.object({ a: 1 });").models,
        []
    );
}

//! Tests of the rule.

use crate::testing::check;

#[test]
fn dm_09_2_bodies_of_requests_are_not_stored() {
    let text = |file: &str| {
        format!(
            "source {file}\nfrom beanie import PydanticObjectId\nfrom pydantic import BaseModel\nclass ItemCreate(BaseModel):\n    total_price: float\nclass OrderCreate(BaseModel):\n    items: list[ItemCreate]\n"
        )
    };
    let count = |file: &str| check("T020", &text(file)).len();
    assert_eq!((count("app/schemas/order.py"), count("app/models/order.py")), (0, 1));
}

#[test]
fn dm_09_2_parts_of_documents_counts_and_djongo() {
    let count = |text: &str| check("T020", text).len();
    let parts = "source Flight.java\npackage a.model;\nimport org.springframework.data.mongodb.core.mapping.Document;\nimport java.util.List;\n@Document\npublic class Flight {\n  private String id;\n  private List<Seat> seats;\n}\nsource Seat.java\npackage a.model;\npublic class Seat {\n  private String number;\n  private double price;\n}\n";
    assert_eq!(count(parts), 1);
    assert_eq!(count(&parts.replace("List<Seat>", "List<String>")), 0);
    assert_eq!(count(&parts.replacen("package a.model;\npublic", "package a.dto;\npublic", 1)), 0);
    let counts = "source a.js\nconst mongoose = require('mongoose');\nmodule.exports = mongoose.model('A', new mongoose.Schema({rows_total_received: Number, rows_failed_count: Number, rows_skipped_count: Number}));";
    assert_eq!(count(counts), 0);
    let djongo = "source models.py\nfrom djongo import models\nclass Wallet(models.Model):\n    balance = models.FloatField()\n";
    assert_eq!(count(djongo), 1);
    assert_eq!(count(&djongo.replace("from djongo", "# djongo\nfrom django.db")), 0);
}

#[test]
fn dm_09_2_models_of_every_library() {
    let count = |text: &str| check("T020", text).len();
    assert_eq!(
        count(
            "source a.py\nfrom mongoengine import Document, FloatField, StringField\nclass Order(Document):\n    amount = FloatField()\n    note = StringField()\n"
        ),
        1
    );
    assert_eq!(
        count(
            "source a.py\nfrom beanie import Document\nclass Order(Document):\n    amount: float\n    tax_rate: float\n"
        ),
        1
    );
    assert_eq!(
        count(
            "source a.go\npackage a\ntype Order struct {\n ID string `bson:\"_id\"`\n Amount float64 `bson:\"amount\"`\n Cents int64 `bson:\"price_cents\"`\n}\n"
        ),
        1
    );
    assert_eq!(
        count(
            "source A.java\nimport org.springframework.data.mongodb.core.mapping.Document;\n@Document class Order { private double price; private java.math.BigDecimal total; }\n"
        ),
        1
    );
}

#[test]
fn dm_09_2_other_amounts_and_other_peoples_objects() {
    use docward_model::Severity::{Info, Warn};
    let mongoose = |fields: &str| {
        let text = format!(
            "source a.js\nconst mongoose = require('mongoose');\nconst s = new mongoose.Schema({{{fields}}});\nmodule.exports = mongoose.model('Pay', s);"
        );
        check("T020", &text).len()
    };
    assert_eq!(mongoose("rawAmount: Number, rate: Number"), 1);
    assert_eq!(mongoose("rawAmount: Number, tokenType: String"), 0);
    assert_eq!(mongoose("stripeListOfInvoices: {data: [{amount_paid: Number}]}"), 0);
    assert_eq!(mongoose("listOfInvoices: {data: [{amount_paid: Number}]}"), 1);
    assert_eq!(mongoose("stripePrice: Number"), 1, "a field of our own");
    let go = "source a.go\npackage a\ntype Order struct {\n ID string `bson:\"_id\"`\n Amount float64 `bson:\"amount\"`\n}\n";
    let severity = |more: &str| check("T020", &format!("{go}{more}"))[0].severity;
    assert_eq!(severity("func f() { var o Order\n c.FindOne(ctx, x).Decode(&o) }"), Info);
    assert_eq!(severity("func f() Order { return Order{Amount: 1} }"), Warn);
    assert_eq!(severity("func f(o *Order) { c.InsertOne(ctx, o) }"), Warn);
}

#[test]
fn dm_09_2_points_scores_and_the_money_of_games() {
    use docward_model::Severity::{Info, Warn};
    let worst = |fields: &str| {
        let text = format!(
            "source a.js\nconst mongoose = require('mongoose');\nconst s = new mongoose.Schema({{\n{fields}\n}});\nmodule.exports = mongoose.model('Pay', s);"
        );
        check("T020", &text).iter().map(|finding| finding.severity).max()
    };
    assert_eq!(worst("accountBalance: Number"), Some(Warn));
    assert_eq!(worst("diamondBalance: Number"), None);
    assert_eq!(worst("scoreFactors: {budget: Number, urgency: Number}"), None);
    assert_eq!(worst("balance: Number, xpTotal: Number"), Some(Info));
    assert_eq!(worst("Guild: String, Amount: Number"), Some(Info));
    assert_eq!(worst("unitAmount: Number"), Some(Info));
    assert_eq!(worst("amount: Number, paymentIntentId: String"), Some(Info));
    assert_eq!(worst("amount: Number, stripeCustomerId: String"), Some(Info));
    assert_eq!(worst("price: Number, method: {type: String, default: 'VNPay'}"), Some(Info));
    assert_eq!(worst("price: Number, currency: {enum: ['USD', 'VND']}"), Some(Warn));
    assert_eq!(worst("price: {type: Number, validate: Number.isInteger}"), None);
    assert_eq!(worst("price: Number, // VND"), None);
    assert_eq!(worst("price: Number, currency: {type: String, default: 'VND'}"), None);
    assert_eq!(worst("price: Number, currency: {type: String, default: 'IDR'}"), None);
    assert_eq!(worst("price: Number, currency: {type: String, default: 'EUR'}"), Some(Warn));
    assert_eq!(worst("price: {type: Number, min: 0}"), Some(Warn));
    assert_eq!(worst("total: Number, votes: Number"), None);
    assert_eq!(worst("total: Number, items: [{sku: String}]"), Some(Warn));
    assert_eq!(worst("total: Number, salary: String, subtotal: Number"), Some(Warn));
}

#[test]
fn dm_09_2_the_fields_of_a_model_are_one_finding() {
    let text = "source a.js\nconst mongoose = require('mongoose');\nconst s = new mongoose.Schema({price: Number, items: [{subtotal: Number}], shippingCost: Number});\nmodule.exports = mongoose.model('Order', s);";
    let said = told(text);
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(
        said.iter()
            .any(|(_, what)| what.starts_with("`price` and `items[].subtotal` of `Order` hold")),
        "{said:?}"
    );
}

#[test]
fn dm_09_2_whole_amounts_of_a_currency_without_minor_units() {
    use docward_model::Severity::{Info, Warn};
    let model = |name: &str| {
        format!(
            "const mongoose = require('mongoose');\nconst s = new mongoose.Schema({{price: Number}});\nmodule.exports = mongoose.model('{name}', s);\n"
        )
    };
    let product = format!("source product.js\n{}", model("Product"));
    let order = format!("source order.js\n{}", model("Order"));
    let shop = |value: &str| {
        format!(
            "source shop.js\nconst mongoose = require('mongoose');\nconst Product = require('./models/product');\nasync function add(body) {{ await Product.create({{price: {value}}}); }}\n"
        )
    };
    let severities = |value: &str| {
        told(&format!("{product}{order}{}", shop(value)))
            .into_iter()
            .map(|(severity, _)| severity)
            .collect::<Vec<_>>()
    };
    assert_eq!(severities("body.price"), [Warn, Warn]);
    assert_eq!(severities("Number.parseInt(body.price, 10)"), [Info]);
    assert_eq!(severities("Math.round(body.price)"), [Info]);
    assert_eq!(severities("Math.round(body.price * 20) / 20"), [Warn, Warn]);
}

#[test]
fn dm_09_2_cents_are_whole_numbers() {
    let text = "source a.js\nconst mongoose = require('mongoose');\nconst s = new mongoose.Schema({\n  // amount in cents\n  amount: {type: Number},\n  price: Number,\n});\nmodule.exports = mongoose.model('Pay', s);";
    assert_eq!(check("T020", text).len(), 1, "only the one without the remark");
    assert_eq!(check("T020", &text.replace("in cents", "in whole rupees")).len(), 1);
    let all = text.replace("amount in cents", "Amounts in whole naira.");
    assert!(
        check("T020", &all).iter().all(|f| f.severity == docward_model::Severity::Info),
        "what is said of all amounts holds for the other one too"
    );
    let found = check("T020", &text.replace("cents", "dollars"));
    assert!(found.len() == 1 && found[0].what.starts_with("`amount` and `price` of"), "{found:?}");
}

/// What an interface says of several numbers holds for those beside them.
#[test]
fn dm_09_2_remarks_of_an_interface_say_the_unit() {
    let text = |unit: &str| {
        format!(
            "source a.ts\nimport {{Schema, model}} from 'mongoose';\ninterface IBill {{\n  total: number; // In {unit}\n  paidAmount: number; // In {unit}\n  netAmount: number;\n}}\nconst s = new Schema<IBill>({{\n  paidAmount: {{type: Number}},\n  netAmount: {{type: Number}},\n}});\nexport default model<IBill>('Bill', s);\n"
        )
    };
    assert_eq!(check("T020", &text("paise")).len(), 0);
    assert_eq!(check("T020", &text("rupees")).len(), 1);
    // A number that is named after its unit says nothing of others.
    let named =
        text("paise").replace("total:", "totalPaise:").replace("paidAmount: n", "paidPaise: n");
    assert_eq!(check("T020", &named).len(), 1);
}

/// How often models in files are told, and how loud.
fn told(files: &str) -> Vec<(docward_model::Severity, String)> {
    check("T020", files).into_iter().map(|f| (f.severity, f.what)).collect()
}

#[test]
fn dm_09_2_copies_of_a_model_are_told_once() {
    let model = "const mongoose = require('mongoose');\nconst s = new mongoose.Schema({price: Number});\nmodule.exports = mongoose.model('Book', s);\n";
    let files =
        ["1", "2", "3"].map(|chapter| format!("source book/{chapter}/book.js\n{model}")).concat();
    let found = told(&files);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].1.ends_with("in 3 copies of the model"), "{found:?}");
    assert_eq!(told(&files.replacen("'Book'", "'Shop'", 1)).len(), 2, "another model");
}

#[test]
fn dm_09_2_amounts_that_code_gives_in_the_smallest_unit() {
    use docward_model::Severity::{Info, Warn};
    let project = |use_of: &str| {
        format!(
            "source m.js\nconst mongoose = require('mongoose');\nmodule.exports = mongoose.model('Purchase', new mongoose.Schema({{amount: Number}}));\nsource a.js\nconst mongoose = require('mongoose');\nconst Purchase = require('./models/purchase');\nasync function f(book, stripe) {{ {use_of} }}\n"
        )
    };
    for whole in [
        "await Purchase.create({amount: book.price * 100});",
        "const p = new Purchase({amount: Math.round(book.price * 100)}); await p.save();",
        "const cents = toCents(book.price); await Purchase.create({amount: cents});",
    ] {
        assert!(told(&project(whole)).is_empty(), "{whole}");
    }
    for other in [
        "await Purchase.create({amount: book.price});",
        "await stripe.charges.create({amount: book.price * 100}); await Purchase.create({amount: book.price});",
        "await Purchase.create({amount: intent.amount / 100});",
    ] {
        assert_eq!(told(&project(other))[0].0, Warn, "{other}");
    }
    assert_eq!(told(&project("lib.convert_to_satoshi(book.price, cb);"))[0].0, Info);
    let priced = |value: &str| {
        let text = project(&format!("await stripe.prices.create({{unit_amount: {value}}});"));
        told(&text)[0].0
    };
    assert_eq!(priced("book.amount"), Info, "as Stripe counts");
    assert_eq!(priced("book.amount * 100"), Warn);
    assert_eq!(priced("book.other"), Warn);
    let shown = project("").replace(
        "{amount: Number}",
        "{amount: Number}, {methods: {show() { return this.amount / 100; }}}",
    );
    assert!(told(&shown).is_empty());
}

#[test]
fn dm_09_2_leave_shares_estimates_and_fees() {
    use docward_model::Severity::{Info, Warn};
    let severity = |model: &str, fields: &str, path: &str| {
        let text = format!(
            "source a.js\nconst mongoose = require('mongoose');\nmodule.exports = mongoose.model('{model}', new mongoose.Schema({{{fields}}}));"
        );
        let found = check("T020", &text);
        let of = |finding: &&docward_model::Finding| finding.what.contains(&format!("`{path}`"));
        found.iter().find(of).map(|finding| finding.severity)
    };
    assert_eq!(severity("LeaveType", "balance: Number", "balance"), None);
    assert_eq!(severity("Account", "balance: Number", "balance"), Some(Warn));
    assert_eq!(
        severity("Slip", "percrentageOfBaseSalary: Number", "percrentageOfBaseSalary"),
        None
    );
    assert_eq!(severity("Slip", "baseSalary: Number", "baseSalary"), Some(Warn));
    assert_eq!(severity("User", "indentationAmount: Number", "indentationAmount"), None);
    assert_eq!(severity("Order", "price: Number, discounts: Number", "discounts"), Some(Info));
    assert_eq!(severity("Coin", "last_price: Number", "last_price"), Some(Info));
    assert_eq!(severity("Order", "estimatedPrice: Number", "estimatedPrice"), Some(Info));
    assert_eq!(severity("Order", "amount: Number, service_fee: Number", "service_fee"), Some(Warn));
    assert_eq!(severity("Order", "amount: Number, fee: Number", "fee"), Some(Info));
    assert_eq!(severity("Order", "fee: Number", "fee"), Some(Info), "it may be a share");
    assert_eq!(severity("Bet", "bet: Number, toWin: Number", "toWin"), Some(Info));
    assert_eq!(severity("Game", "toWin: Number", "toWin"), None);
}

#[test]
fn dm_09_2_plans_copies_grades_and_shares() {
    use docward_model::Severity::{Info, Warn};
    let worst = |file: &str, model: &str, fields: &str| {
        let text = format!(
            "source {file}\nconst mongoose = require('mongoose');\nmodule.exports = mongoose.model('{model}', new mongoose.Schema({{{fields}}}));"
        );
        check("T020", &text).iter().map(|finding| finding.severity).max()
    };
    let of = |model: &str, fields: &str| worst("a.js", model, fields);
    assert_eq!(of("Event", "budget: Number"), Some(Info));
    assert_eq!(of("Sale", "targetAmount: Number"), Some(Info));
    assert_eq!(of("Goal", "currentAmount: Number"), Some(Warn));
    assert_eq!(of("AuditLog", "metadata: {amount: Number}"), Some(Info));
    assert_eq!(of("Admin", "notifications: [{details: {amount: Number}}]"), Some(Info));
    assert_eq!(of("Admin", "payments: [{details: {amount: Number}}]"), Some(Warn));
    assert_eq!(of("Banner", "originalPrice: Number"), Some(Info));
    assert_eq!(of("Area", "median_price: Number"), Some(Info));
    assert_eq!(of("Package", "stats: {totalRevenueAmount: Number}"), Some(Info));
    assert_eq!(of("Package", "paid: {totalRevenueAmount: Number}"), Some(Warn));
    assert_eq!(of("Review", "ratings: {valueForMoney: Number, moneyTotalAmount: Number}"), None);
    assert_eq!(of("rateCurrency", "currentPrice: Number"), None);
    assert_eq!(of("Voucher", "amount: Number, amountType: String"), Some(Info));
    let kinds = "amount: Number, type: {type: String, enum: ['fixed', 'percentage']}";
    assert_eq!(of("Coupon", kinds), Some(Info));
    assert_eq!(of("Coupon", &kinds.replace("percentage", "other")), Some(Warn));
    assert_eq!(of("Product", &kinds.replace("amount", "price")), Some(Warn));
    assert_eq!(of("Order", "amount: Number, paymentType: String"), Some(Warn));
    assert_eq!(of("Slip", "deductionAmount: Number, deductionType: String"), Some(Warn));
    assert_eq!(worst("scripts/a.js", "Fee", "amount: Number"), Some(Info));
}

#[test]
fn dm_09_2_a_model_is_told_where_it_is_and_not_in_a_script() {
    let model = "const mongoose = require('mongoose');\nmodule.exports = mongoose.model('Tier', new mongoose.Schema({price: Number}));\n";
    let text = format!("source scripts/seed.js\n{model}source src/tier.js\n{model}");
    let found = check("T020", &text);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].severity, docward_model::Severity::Warn);
    assert!(found[0].location.as_ref().is_some_and(|at| at.file.ends_with("src/tier.js")));
}

#[test]
fn dm_09_2_schemas_of_prisma() {
    let schema = |provider: &str| {
        format!(
            "source prisma/schema.prisma\ndatasource db {{\n  provider = \"{provider}\"\n  url = env(\"DATABASE_URL\")\n}}\nmodel Order {{\n  id String @id @default(auto()) @map(\"_id\") @db.ObjectId\n  price Float\n}}\n"
        )
    };
    assert_eq!(told(&schema("mongodb")).len(), 1);
    assert!(told(&schema("postgresql")).is_empty());
}

#[test]
fn dm_10_1_an_amount_beside_a_price_says_how_many() {
    let warned = |fields: &str| {
        let text = format!(
            "source a.js\nconst mongoose = require('mongoose');\nmodule.exports = mongoose.model('Item', new mongoose.Schema({{ {fields} }}));"
        );
        let found = check("T020", &text);
        found.iter().any(|finding| finding.what.contains("`amount`"))
    };
    assert!(!warned("product: String, price: Number, amount: Number"));
    assert!(warned("product: String, price: Number, quantity: Number, amount: Number"));
    assert!(warned("price: Number, amount: Number"));
    assert!(warned("amount: Number"));
}

#[test]
fn dm_09_2_structs_that_another_file_stores() {
    let model = "source models/bill.go\npackage models\ntype Bill struct {\n Number string `bson:\"number\"`\n Amount float64 `bson:\"amount\"`\n}\n";
    let count = |body: &str| {
        let text = format!(
            "{model}source repositories/bill.go\npackage repositories\nimport \"go.mongodb.org/mongo-driver/mongo\"\nfunc f(ctx context.Context, c *mongo.Collection, bill models.Bill) error {{\n {body}\n}}\n"
        );
        check("T020", &text).len()
    };
    assert_eq!(count("_, err := c.InsertOne(ctx, bill)\n return err"), 1);
    let set =
        "_, err := c.UpdateOne(ctx, bson.M{\"number\": 1}, bson.M{\"$set\": bill})\n return err";
    assert_eq!(count(set), 1);
    assert_eq!(count("return bill.Check()"), 0);
}

#[test]
fn dm_09_2_classes_of_pydantic_that_motor_stores() {
    let model = "source app/schemas/bill.py\nfrom pydantic import BaseModel\nclass BillCreate(BaseModel):\n    amount: float\nclass BillView(BaseModel):\n    total_amount: float\n";
    let count = |body: &str| {
        let text = format!(
            "{model}source app/bills.py\nfrom app.schemas.bill import BillCreate\nasync def add(db, bill: BillCreate):\n    {body}\n"
        );
        told(&text).len()
    };
    assert_eq!(count("await db.bills.insert_one(bill.model_dump())"), 1);
    assert_eq!(count("doc = bill.dict()\n    await db.bills.insert_one(doc)"), 1);
    assert_eq!(count("await db.bills.insert_one({**bill.dict(), 'a': 1})"), 1);
    let changed = "doc = bill.dict()\n    doc['amount'] = Decimal128(bill.amount)\n    await db.bills.insert_one(doc)";
    assert_eq!(count(changed), 0);
    assert_eq!(count("await send(bill.dict())"), 0);
}

#[test]
fn dm_09_2_lists_of_what_another_model_keeps_and_histories_are_copies() {
    use docward_model::Severity;
    let severity = |list: &str, model: &str| {
        let files = format!(
            "source a.js\nconst mongoose = require('mongoose');\nmodule.exports = mongoose.model('Person', new mongoose.Schema({{{list}: [{{totalDue: Number, amount: Number}}]}}));\nsource b.js\nconst mongoose = require('mongoose');\nmodule.exports = mongoose.model('{model}', new mongoose.Schema({{totalDue: Number, amount: Number}}));"
        );
        let found = told(&files);
        found.iter().find(|(_, what)| what.contains(list)).map(|(severity, _)| *severity)
    };
    assert_eq!(severity("invoices", "Invoice"), Some(Severity::Info));
    assert_eq!(severity("invoices", "Order"), Some(Severity::Warn));
    assert_eq!(severity("items", "Item"), Some(Severity::Warn), "lines are what is paid");
    let history = |model: &str| {
        let files = format!(
            "source a.js\nconst mongoose = require('mongoose');\nmodule.exports = mongoose.model('{model}', new mongoose.Schema({{totalFee: Number}}));"
        );
        told(&files)[0].0
    };
    assert_eq!(history("PromotionHistory"), Severity::Info);
    assert_eq!(history("PaymentHistory"), history("Payment"));
    let rates = "source a.js\nconst mongoose = require('mongoose');\nmodule.exports = mongoose.model('currency', new mongoose.Schema({USD: Number, EUR: Number}));";
    assert_eq!(told(rates), []);
}

//! Statements that keep a pattern correct, as data and as mongosh functions. In the data, a
//! function argument is a value of the BSON type JavaScript: an expression over the parameters.

use bson::{Bson, Document};
use docward_model::shell::quote;

use crate::emit::expectations::Check;
use crate::emit::js;

/// A method of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the shell's")]
pub enum Method {
    InsertOne,
    InsertMany,
    UpdateOne,
    UpdateMany,
    DeleteMany,
    BulkWrite,
    FindOne,
    FindOneAndDelete,
    FindOneAndUpdate,
    Find,
    Aggregate,
    CountDocuments,
}

impl Method {
    /// Returns the name in mongosh.
    pub fn name(self) -> &'static str {
        match self {
            Self::InsertOne => "insertOne",
            Self::InsertMany => "insertMany",
            Self::UpdateOne => "updateOne",
            Self::UpdateMany => "updateMany",
            Self::DeleteMany => "deleteMany",
            Self::BulkWrite => "bulkWrite",
            Self::FindOne => "findOne",
            Self::FindOneAndDelete => "findOneAndDelete",
            Self::FindOneAndUpdate => "findOneAndUpdate",
            Self::Find => "find",
            Self::Aggregate => "aggregate",
            Self::CountDocuments => "countDocuments",
        }
    }
}

/// A call of a collection method.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The collection.
    pub collection: String,
    /// The method.
    pub method: Method,
    /// The arguments in order: a document, a filter and an update, a pipeline, options.
    pub arguments: Vec<Bson>,
    /// The calls on the cursor: `sort`, `limit`.
    pub cursor: Vec<(&'static str, Bson)>,
    /// Fields of the shard key that are missing in the filter. The function looks them up first.
    pub key: Vec<String>,
}

impl Statement {
    pub(crate) fn new(
        collection: impl Into<String>,
        method: Method,
        arguments: impl IntoIterator<Item = Bson>,
    ) -> Self {
        let arguments = arguments.into_iter().collect();
        Self {
            collection: collection.into(),
            method,
            arguments,
            cursor: Vec::new(),
            key: Vec::new(),
        }
    }

    pub(crate) fn insert(collection: &str, document: Document) -> Self {
        Self::new(collection, Method::InsertOne, [document.into()])
    }

    pub(crate) fn update(collection: &str, filter: Document, update: impl Into<Bson>) -> Self {
        Self::new(collection, Method::UpdateOne, [filter.into(), update.into()])
    }

    pub(crate) fn find(collection: &str, filter: Document) -> Self {
        Self::new(collection, Method::Find, [filter.into()])
    }

    pub(crate) fn with(mut self, option: Document) -> Self {
        self.arguments.push(option.into());
        self
    }

    pub(crate) fn then(mut self, call: &'static str, argument: impl Into<Bson>) -> Self {
        self.cursor.push((call, argument.into()));
        self
    }

    /// Makes the function look up the shard key if a server before 7.1 needs it to find the
    /// document. `findOneAnd…` needs the key, `updateOne` needs the key or `_id`.
    pub(crate) fn look_up(&mut self, key: &[(String, bool)]) {
        let Some(filter) = self.filter() else { return };
        let is_one = match self.method {
            Method::FindOneAndDelete | Method::FindOneAndUpdate => true,
            Method::UpdateOne => !is_value(filter.get("_id")),
            _ => false,
        };
        let lacks = |(field, _): &&(String, bool)| !is_value(filter.get(field));
        let lacking: Vec<String> =
            key.iter().filter(lacks).map(|(field, _)| field.clone()).collect();
        if is_one && !self.is_upsert() {
            self.key = lacking;
        }
    }

    /// Whether the statement inserts a document if it finds none.
    pub(crate) fn is_upsert(&self) -> bool {
        let options = self.arguments.get(2).and_then(Bson::as_document);
        options.is_some_and(|options| options.get_bool("upsert").unwrap_or(false))
    }

    /// Returns the filter, if the method has one.
    pub fn filter(&self) -> Option<&Document> {
        match self.method {
            Method::InsertOne | Method::InsertMany | Method::Aggregate => None,
            _ => self.arguments.first().and_then(Bson::as_document),
        }
    }

    /// Returns the update, if the method has one: a document or a pipeline.
    pub fn update_part(&self) -> Option<&Bson> {
        match self.method {
            Method::UpdateOne | Method::UpdateMany | Method::FindOneAndUpdate => {
                self.arguments.get(1)
            }
            _ => None,
        }
    }

    /// Returns the call in mongosh, on a database named `db`.
    pub fn shell(&self, indent: usize) -> String {
        let open = format!("db.getCollection({}).{}(", quote(&self.collection), self.method.name());
        let mut parts: Vec<String> =
            self.arguments.iter().map(|part| js::value(part, indent + 2)).collect();
        if let Some(filter) = parts.first_mut().filter(|_| !self.key.is_empty()) {
            let key: Vec<String> = self.key.iter().map(|field| quote(field)).collect();
            *filter = js::enclosed(
                "withKey(",
                vec![
                    "db".to_owned(),
                    quote(&self.collection),
                    filter.clone(),
                    format!("[{}]", key.join(", ")),
                ],
                ")",
                indent + 2,
            );
        }
        let mut text = match parts.as_slice() {
            [keyed] if !self.key.is_empty() => {
                js::enclosed(&open, vec![keyed.clone()], ")", indent)
            }
            // A single object begins on the line of the call.
            [_] => format!("{open}{})", js::value(&self.arguments[0], indent)),
            _ => js::enclosed(&open, parts, ")", indent),
        };
        for (call, argument) in &self.cursor {
            text.push_str(&format!(".{call}({})", js::value(argument, indent)));
        }
        if matches!(self.method, Method::Find | Method::Aggregate) {
            text.push_str(".toArray()");
        }
        text
    }
}

/// Whether a condition is a single value and not an operator.
pub(crate) fn is_value(condition: Option<&Bson>) -> bool {
    match condition {
        Some(Bson::Document(operators)) => !operators.keys().any(|name| name.starts_with('$')),
        condition => condition.is_some(),
    }
}

/// A step of a function.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// A comment.
    Note(String),
    /// Lines of JavaScript around the statements.
    Code(String),
    /// A statement whose result is ignored.
    Run(Statement),
    /// A statement whose result has a name.
    Let(&'static str, Statement),
    /// A statement whose result the function returns.
    Return(Statement),
    /// A condition, and the value that the function returns if it holds.
    ReturnIf(String, &'static str),
    /// A condition, and the message of the error if it holds.
    FailIf(String, String),
    /// The line before a block, its steps, and the line after it.
    Block(String, Vec<Step>, &'static str),
    /// Repeats steps while another writer wins (error 11000). Results must have names, because the
    /// shell does not wait for a statement in `return`. An error there would not be caught.
    Retry(Vec<Step>),
}

impl Step {
    pub(crate) fn note(text: impl Into<String>) -> Self {
        Self::Note(text.into())
    }

    pub(crate) fn code(text: impl Into<String>) -> Self {
        Self::Code(text.into())
    }

    pub(crate) fn return_if(condition: impl Into<String>, value: &'static str) -> Self {
        Self::ReturnIf(condition.into(), value)
    }

    pub(crate) fn fail_if(condition: impl Into<String>, why: impl Into<String>) -> Self {
        Self::FailIf(condition.into(), why.into())
    }

    /// Returns a step that fails if a document was not found.
    pub(crate) fn missing(name: &str, what: &str) -> Self {
        Self::fail_if(format!("{name} === null"), format!("there is no such {what}"))
    }

    /// Returns a step that fails if the update `done` matched nothing.
    pub(crate) fn unless_matched(what: &str) -> Self {
        Self::fail_if("done.matchedCount === 0", format!("there is no such {what}"))
    }

    /// Returns the steps inside of a step.
    pub(crate) fn inner(&mut self) -> Option<&mut Vec<Step>> {
        match self {
            Self::Block(_, steps, _) | Self::Retry(steps) => Some(steps),
            _ => None,
        }
    }
}

/// A function for one task of the application.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// The name, such as `addComment`.
    pub name: String,
    /// The parameters after `db`.
    pub parameters: Vec<String>,
    /// The effect of the function and its reason, in sentences.
    pub does: String,
    /// The clauses that it follows.
    pub clauses: Vec<&'static str>,
    /// The steps.
    pub steps: Vec<Step>,
}

impl Job {
    /// Creates a function without clauses.
    pub(crate) fn new(
        name: &str,
        parameters: &[&str],
        does: impl Into<String>,
        steps: impl IntoIterator<Item = Step>,
    ) -> Self {
        Self {
            name: name.to_owned(),
            parameters: parameters.iter().map(|&name| name.to_owned()).collect(),
            does: does.into(),
            clauses: Vec::new(),
            steps: steps.into_iter().collect(),
        }
    }

    pub(crate) fn by(mut self, clauses: &[&'static str]) -> Self {
        self.clauses.extend(clauses);
        self
    }

    /// Returns its statements in order.
    pub fn statements(&self) -> Vec<&Statement> {
        fn of<'s>(steps: &'s [Step], into: &mut Vec<&'s Statement>) {
            for step in steps {
                match step {
                    Step::Run(statement) | Step::Let(_, statement) | Step::Return(statement) => {
                        into.push(statement);
                    }
                    Step::Retry(steps) | Step::Block(_, steps, _) => of(steps, into),
                    _ => {}
                }
            }
        }
        let mut found = Vec::new();
        of(&self.steps, &mut found);
        found
    }

    /// Returns the mongosh function. It takes the database as a parameter, so a caller can pass the
    /// database of a session to make it part of a transaction.
    pub fn shell(&self) -> String {
        let mut text = String::from("/**\n");
        for line in wrapped(&self.does, 96) {
            text.push_str(&format!(" * {line}\n"));
        }
        if !self.clauses.is_empty() {
            text.push_str(&format!(" * Clauses: {}.\n", self.clauses.join(", ")));
        }
        text.push_str(" */\n");
        let parameters: Vec<&str> =
            ["db"].into_iter().chain(self.parameters.iter().map(String::as_str)).collect();
        text.push_str(&format!("function {}({}) {{\n", self.name, parameters.join(", ")));
        write(&self.steps, 2, &mut text);
        text.push_str("}\n");
        text
    }
}

fn write(steps: &[Step], indent: usize, text: &mut String) {
    let space = " ".repeat(indent);
    for step in steps {
        match step {
            Step::Note(note) => {
                for line in wrapped(note, 96 - indent) {
                    text.push_str(&format!("{space}// {line}\n"));
                }
            }
            Step::Code(code) => {
                for line in code.lines() {
                    text.push_str(&format!("{space}{line}\n"));
                }
            }
            Step::Run(statement) => {
                text.push_str(&format!("{space}{};\n", statement.shell(indent)));
            }
            Step::Let(name, statement) => {
                text.push_str(&format!("{space}const {name} = {};\n", statement.shell(indent)));
            }
            Step::Return(statement) => {
                text.push_str(&format!("{space}return {};\n", statement.shell(indent)));
            }
            Step::ReturnIf(condition, value) => {
                text.push_str(&format!("{space}if ({condition}) return {value};\n"));
            }
            Step::FailIf(condition, why) => {
                let why = quote(why);
                text.push_str(&format!("{space}if ({condition}) throw new Error({why});\n"));
            }
            Step::Block(open, steps, close) => {
                text.push_str(&format!("{space}{open}\n"));
                write(steps, indent + 2, text);
                text.push_str(&format!("{space}{close}\n"));
            }
            Step::Retry(steps) => {
                text.push_str(&format!(
                    "{space}for (let attempt = 0; ; attempt++) {{\n{space}  try {{\n"
                ));
                write(steps, indent + 4, text);
                text.push_str(&format!(
                    "{space}  }} catch (error) {{\n{space}    if (error.code !== 11000 || attempt === 100) throw error;\n{space}  }}\n{space}}}\n"
                ));
            }
        }
    }
}

/// Wraps text at word boundaries.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        // The text must not end the comment around it.
        let word = word.replace("*/", "* /");
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

/// The functions of one file.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// The relationship or entity.
    pub about: String,
    /// The pattern, as in the name of the file.
    pub pattern: &'static str,
    /// Describes the file, in sentences.
    pub intro: String,
    /// The functions.
    pub jobs: Vec<Job>,
    /// Runs the functions in a scratch database and checks the results.
    pub check: Check,
}

impl Script {
    /// Returns the name of the file: `post-comments-subset.js`.
    pub fn file(&self) -> String {
        format!("{}-{}.js", docward_model::words::split(&self.about).join("-"), self.pattern)
    }
}

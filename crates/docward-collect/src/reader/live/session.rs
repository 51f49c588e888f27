//! A connection to a deployment, and the questions that may be asked over it: commands that only
//! read, and cursors on documents.

use std::{
    cell::Cell,
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use docward_bson::value::to_value;
use docward_model::{Namespace, Value};
use docward_uri::{bracketed, is_unescaped, refusal, without_login};
use docward_workload::own_name;
use futures_util::{Stream, StreamExt as _, TryStreamExt as _, stream};
use mongodb::{
    Client, Collection,
    bson::{Bson, Document, RawDocumentBuf, Utf8Lossy, doc},
    error::{Error, ErrorKind},
    options::{
        AggregateOptions, AuthMechanism, ClientOptions, CollectionOptions, FindOptions, Hint,
        ReadPreference, SelectionCriteria, ServerAddress, Tls,
    },
    raw_batch_cursor::RawBatchCursor,
};
use tokio::runtime::Runtime;

use super::{
    documents::{GLANCE, SILENCE},
    driver_error::{
        Unanswered, code, is_forbidden, is_passing, is_silent, is_unreachable, unanswered, words,
    },
};
use crate::trouble::LiveTrouble;

/// How long to look for a server, unless the connection string says.
const PATIENCE: Duration = Duration::from_secs(5);

/// Questions of one kind in a row that were not answered in time, after which no more of them are asked.
const UNANSWERED: usize = 2;

/// How long to wait before a question is asked again: a new primary has to be seen first.
const PAUSE: Duration = Duration::from_millis(500);

/// Connections to each server, unless the connection string says.
const POOL: u32 = 4;

/// The commands that are sent. None of them changes anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Read {
    Aggregate,
    AnalyzeShardKey,
    BuildInfo,
    Count,
    Find,
    GetCmdLineOpts,
    GetDefaultRwConcern,
    GetParameter,
    Hello,
    HostInfo,
    ListCollections,
    ListDatabases,
    ListIndexes,
    ReplSetGetConfig,
    ReplSetGetStatus,
    RolesInfo,
    ServerStatus,
    UsersInfo,
}

impl Read {
    /// How many there are.
    const COUNT: usize = Self::UsersInfo as usize + 1;

    fn name(self) -> &'static str {
        match self {
            Self::Aggregate => "aggregate",
            Self::AnalyzeShardKey => "analyzeShardKey",
            Self::BuildInfo => "buildInfo",
            Self::Count => "count",
            Self::Find => "find",
            Self::GetCmdLineOpts => "getCmdLineOpts",
            Self::GetDefaultRwConcern => "getDefaultRWConcern",
            Self::GetParameter => "getParameter",
            Self::Hello => "hello",
            Self::HostInfo => "hostInfo",
            Self::ListCollections => "listCollections",
            Self::ListDatabases => "listDatabases",
            Self::ListIndexes => "listIndexes",
            Self::ReplSetGetConfig => "replSetGetConfig",
            Self::ReplSetGetStatus => "replSetGetStatus",
            Self::RolesInfo => "rolesInfo",
            Self::ServerStatus => "serverStatus",
            Self::UsersInfo => "usersInfo",
        }
    }
}

/// A database, a command, and the rest of it.
pub(super) type Question = (String, Read, Document);

/// A collection, `_id`s of it, and whether only those are wanted that are there.
pub(super) type Asked = (Namespace, Vec<Bson>, bool);

/// Which documents of a collection are read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Way {
    /// All, in their natural order.
    Everything,
    /// So many, by a random walk.
    Random(u64),
    /// About this share, by chance, in their natural order.
    Share(f64),
    /// The first ones.
    First(u64),
}

/// Documents between two `_id`s, the lower one included. Bounds of an index know no types: they do
/// not leave out what a comparison in a filter would.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Bounds {
    pub(super) from: Option<Bson>,
    pub(super) to: Option<Bson>,
}

/// A collection that is read in ranges.
pub(super) struct Reading(Collection<RawDocumentBuf>);

impl Reading {
    /// Opens a cursor on the documents between two `_id`s, in the order of the index.
    pub(super) async fn range_cursor(
        &self,
        bounds: Bounds,
        batch_size: u32,
    ) -> Result<RawBatchCursor, Error> {
        let hint = Hint::Keys(doc! { "_id": 1 });
        let last = bounds.from == Some(Bson::MaxKey);
        let mut options = FindOptions::builder().batch_size(batch_size).hint(hint).build();
        if last {
            let filter = doc! { "_id": Bson::MaxKey };
            return self.0.find(filter).with_options(options).batch().await;
        }
        options.min = bounds.from.map(|id| doc! { "_id": id });
        options.max = bounds.to.map(|id| doc! { "_id": id });
        self.0.find(doc! {}).with_options(options).batch().await
    }
}

/// When waiting for an answer ends: the run is stopped, or its time is over.
#[derive(Clone, Copy)]
pub(super) struct Stop<'r> {
    pub(super) flag: &'r AtomicBool,
    pub(super) at: Option<Instant>,
}

impl Stop<'_> {
    fn is_reached(self) -> bool {
        self.flag.load(Ordering::Relaxed) || self.at.is_some_and(|at| Instant::now() >= at)
    }
}

/// Questions in a row that were not answered in time, by the command: what hangs on one lock answers others.
#[derive(Default)]
struct Silences([AtomicUsize; Read::COUNT]);

impl Silences {
    fn is_given_up(&self, read: Read) -> bool {
        self.0[read as usize].load(Ordering::Relaxed) >= UNANSWERED
    }

    fn note<T>(&self, read: Read, answer: &Result<T, Error>) {
        let silences = &self.0[read as usize];
        match answer {
            Err(error) if is_silent(error) => silences.fetch_add(1, Ordering::Relaxed),
            _ => silences.swap(0, Ordering::Relaxed),
        };
    }
}

/// A deployment that answered. The driver's client stays in here: nothing outside can write with it.
pub(crate) struct Session<'r> {
    /// The hosts of the connection string; never user or options.
    pub(crate) name: String,
    /// Where questions go, as a read preference mode.
    pub(super) read_preference: &'static str,
    /// Whether the connection string says so.
    pub(super) prefers: bool,
    /// Whether the connection string holds a login.
    pub(super) logged_in: bool,
    /// The database of the connection string.
    pub(super) default_database: Option<String>,
    /// Whether only the server named is talked to, whatever set it belongs to.
    pub(super) direct: bool,
    client: Client,
    criteria: SelectionCriteria,
    runtime: Runtime,
    stop: Stop<'r>,
    silences: Arc<Silences>,
}

impl<'r> Session<'r> {
    /// Connects and waits for a first answer; a failure comes with what to call the source.
    pub(super) fn connect(uri: &str, stop: Stop<'r>) -> Result<Self, (String, LiveTrouble)> {
        let scheme = uri.split(':').next().unwrap_or_default();
        let unnamed = format!("{scheme}://…");
        if is_unescaped(uri) {
            return Err((unnamed, LiveTrouble::Unescaped));
        }
        let options = uri.rsplit_once('?').map_or("", |(_, options)| options).to_ascii_lowercase();
        if options.split('&').any(|option| option == "tlsallowinvalidhostnames=true") {
            return Err((unnamed, LiveTrouble::NamesChecked));
        }
        let runtime = match runtime() {
            Ok(runtime) => runtime,
            Err(error) => return Err((unnamed, failed("starting the driver", error.to_string()))),
        };
        let options = runtime.block_on(async { ClientOptions::parse(uri).await });
        let mut options = options.map_err(|error| {
            let trouble = match &*error.kind {
                ErrorKind::DnsResolve { message, .. } => {
                    LiveTrouble::UnknownHost(without_login(message, uri))
                }
                _ => LiveTrouble::BadUri(refusal(&words(&error), uri)),
            };
            (unnamed, trouble)
        })?;
        let hosts: Vec<_> = options.hosts.iter().map(|host| bracketed(&host.to_string())).collect();
        let name = format!("mongodb://{}", hosts.join(","));
        let logged_in = options.credential.is_some();
        let user = options.credential.as_ref().and_then(|c| c.username.clone());
        let by_certificate = options
            .credential
            .as_ref()
            .is_some_and(|credential| credential.mechanism == Some(AuthMechanism::MongoDbX509));
        let certified = match &options.tls {
            Some(Tls::Enabled(tls)) => tls.cert_key_file_path.is_some(),
            _ => false,
        };
        let patience = *options.server_selection_timeout.get_or_insert(PATIENCE);
        options.connect_timeout.get_or_insert(PATIENCE);
        // Servers write down who asked: by this name Docward knows its own operations again.
        options.app_name = Some(own_name(options.app_name.as_deref()));
        options.max_pool_size.get_or_insert(POOL);
        let default_database = options.default_database.clone();
        let direct = options.direct_connection == Some(true);
        let asked = options.clone();
        let prefers = options.selection_criteria.is_some();
        let criteria = options
            .selection_criteria
            .get_or_insert_with(|| {
                SelectionCriteria::ReadPreference(ReadPreference::SecondaryPreferred {
                    options: None,
                })
            })
            .clone();
        let client = {
            let _inside = runtime.enter();
            Client::with_options(options)
        };
        let client = client.map_err(|error| {
            let trouble = match &*error.kind {
                ErrorKind::InvalidTlsConfig { message, .. } => LiveTrouble::Tls(message.clone()),
                _ => LiveTrouble::BadUri(without_login(&words(&error), uri)),
            };
            (name.clone(), trouble)
        })?;
        let session = Self {
            read_preference: mode(&criteria),
            prefers,
            name,
            logged_in,
            default_database,
            direct,
            client,
            criteria,
            runtime,
            stop,
            silences: Arc::default(),
        };
        match session.ask("admin", Read::Hello, Document::new()) {
            Ok(hello) if !is_arbiter(&hello) && !session.logged_in && session.asks_for_login() => {
                let trouble = if session.lets_create_the_first_user() {
                    LiveTrouble::NoUsers
                } else {
                    LiveTrouble::NoLogin
                };
                Err((session.name, trouble))
            }
            Ok(hello) if is_arbiter(&hello) => {
                let others = hello.get_array("hosts").into_iter().flatten();
                let others = others.filter_map(Bson::as_str).map(str::to_owned).collect();
                Err((session.name, LiveTrouble::Arbiter { others }))
            }
            Ok(_) => Ok(session),
            Err(error) => {
                let why = without_login(&words(&error), uri);
                let trouble = match &*error.kind {
                    ErrorKind::Authentication { .. } if by_certificate => {
                        LiveTrouble::Certificate { why, certified }
                    }
                    ErrorKind::Authentication { .. } => LiveTrouble::Login { user, why },
                    ErrorKind::ServerSelection { .. } | ErrorKind::Io(_) => session
                        .other_set(asked)
                        .unwrap_or(LiveTrouble::Unreachable { patience, why, certified }),
                    _ => failed("the first question", why),
                };
                Err((session.name, trouble))
            }
        }
    }

    /// Whether nothing can be asked without a login. A list of databases would come back empty.
    fn asks_for_login(&self) -> bool {
        let answer = self.ask("admin", Read::GetCmdLineOpts, Document::new());
        answer.is_err_and(|error| is_forbidden(&error))
    }

    /// Whether the localhost exception holds: as long as there are no users, a server lets who is on its
    /// machine create the first one, and answers this one question. Otherwise it refuses it without a login.
    fn lets_create_the_first_user(&self) -> bool {
        let answer = self.ask("admin", Read::ReplSetGetStatus, Document::new());
        // Not running as a replica set, or not set up as one yet.
        answer.map_or_else(|error| matches!(code(&error), Some(76 | 94)), |_| true)
    }

    /// Whether no server would do because it belongs to another replica set than was asked for.
    fn other_set(&self, mut options: ClientOptions) -> Option<LiveTrouble> {
        let wanted = options.repl_set_name.take()?;
        options.hosts.truncate(1);
        options.direct_connection = Some(true);
        options.credential = None;
        let client = {
            let _inside = self.runtime.enter();
            Client::with_options(options).ok()?
        };
        let database = client.database("admin");
        let question = database.run_command(command(Read::Hello, Document::new()));
        let hello = self.wait(question.into_future()).ok()?;
        match hello.get_str("setName") {
            Ok(found) if found == wanted => None,
            Ok(found) => Some(LiveTrouble::OtherSet { wanted, found: found.to_owned() }),
            Err(_) => Some(LiveTrouble::NoSet { wanted }),
        }
    }

    /// Asks for one document. `rest` is the command without its name; its value is 1 unless given.
    pub(super) fn ask(
        &self,
        database: &str,
        read: Read,
        rest: Document,
    ) -> Result<Document, Error> {
        self.ask_within(database, read, rest, SILENCE)
    }

    /// The same for a question that may take the server long.
    pub(super) fn ask_within(
        &self,
        database: &str,
        read: Read,
        rest: Document,
        silence: Duration,
    ) -> Result<Document, Error> {
        let database = self.client.database(database);
        self.twice(|| {
            let question = database.run_command(command(read, rest.clone()));
            let question = question.selection_criteria(self.criteria.clone());
            self.answer(read, &Cell::new(Instant::now()), silence, question.into_future())
        })
    }

    /// The same as a catalogue tree.
    pub(super) fn ask_value(
        &self,
        database: &str,
        read: Read,
        rest: Document,
    ) -> Result<Value, Error> {
        self.ask(database, read, rest).map(|reply| tree(&reply))
    }

    /// Asks for a list of documents.
    pub(super) fn list(
        &self,
        database: &str,
        read: Read,
        rest: Document,
    ) -> Result<Vec<Document>, Error> {
        self.list_as(database, read, rest, Some)
    }

    /// Asks for a list of documents and keeps of each what is made of it: a list may be long.
    pub(super) fn list_as<T>(
        &self,
        database: &str,
        read: Read,
        rest: Document,
        mut keep: impl FnMut(Document) -> Option<T>,
    ) -> Result<Vec<T>, Error> {
        let database = self.client.database(database);
        self.twice(|| {
            let question = database.run_cursor_command(command(read, rest.clone()));
            let question = question.selection_criteria(self.criteria.clone());
            let last = Cell::new(Instant::now());
            let keep = &mut keep;
            self.answer(read, &last, SILENCE, async {
                let mut cursor = question.await?;
                let mut kept = Vec::new();
                while let Some(document) = cursor.try_next().await? {
                    last.set(Instant::now());
                    kept.extend(keep(document));
                }
                Ok(kept)
            })
        })
    }

    /// Asks one member of a set, or whoever answers, for a list of documents; stops when they have so
    /// many bytes, and says whether it did.
    pub(super) fn list_of(
        &self,
        member: Option<&str>,
        (database, read, rest): Question,
        most_bytes: usize,
    ) -> Result<(Vec<Value>, bool), Error> {
        let criteria = self.of_member(member);
        let database = self.client.database(&database);
        self.twice(|| {
            let question = database.run_cursor_command(command(read, rest.clone()));
            let question = question.selection_criteria(criteria.clone());
            let last = Cell::new(Instant::now());
            self.answer(read, &last, SILENCE, async {
                let mut cursor = question.await?;
                let (mut documents, mut bytes) = (Vec::new(), 0);
                while let Some(document) = cursor.try_next().await? {
                    last.set(Instant::now());
                    let document = document.to_vec().unwrap_or_default();
                    bytes += document.len();
                    documents.extend(to_value(&document).ok());
                    if bytes > most_bytes {
                        return Ok((documents, true));
                    }
                }
                Ok((documents, false))
            })
        })
    }

    /// Asks again when the network or a change of primary took the answer away: of a question that
    /// only reads that is safe, and the driver asks commands once only.
    fn twice<T>(&self, mut ask: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
        match ask() {
            Err(error) if is_worth_another(&error) && !self.stop.is_reached() => {
                std::thread::sleep(PAUSE);
                ask()
            }
            answer => answer,
        }
    }

    /// Waits for an answer, but not longer than the run, and not for a server that has said nothing since
    /// `last` for too long.
    fn answer<T>(
        &self,
        read: Read,
        last: &Cell<Instant>,
        silence: Duration,
        question: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        if self.silences.is_given_up(read) {
            return Err(unanswered(Unanswered::NotAsked));
        }
        let mut question = std::pin::pin!(question);
        let answer = loop {
            let glance = async { tokio::time::timeout(GLANCE, &mut question).await };
            if let Ok(answer) = self.wait(glance) {
                break answer;
            }
            if self.stop.is_reached() {
                return Err(unanswered(Unanswered::Stopped));
            }
            if last.get().elapsed() > silence {
                break Err(unanswered(Unanswered::Silent(silence)));
            }
        };
        self.silences.note(read, &answer);
        answer
    }

    /// One member of a set, or whoever answers.
    fn of_member(&self, member: Option<&str>) -> SelectionCriteria {
        match member.and_then(|host| ServerAddress::parse(host).ok()) {
            Some(address) => {
                SelectionCriteria::Predicate(Arc::new(move |server| *server.address() == address))
            }
            None => self.criteria.clone(),
        }
    }

    /// Asks one member several questions at a time; answers in order. When the member goes away, the rest
    /// is not asked: to look for it takes seconds each time.
    pub(super) fn list_many_of(
        &self,
        member: &str,
        questions: Vec<Question>,
    ) -> Result<Vec<Result<Vec<Document>, Error>>, Error> {
        let answers = self.answers(self.of_member(Some(member)), questions);
        self.until_stopped(
            answers
                .map(|answer| match answer {
                    Err(error) if is_passing(&error) => Err(error),
                    answer => Ok(answer),
                })
                .try_collect(),
        )
        .unwrap_or_else(|| Err(unanswered(Unanswered::Stopped)))
    }

    /// Asks several questions at a time, as many as there are connections; answers in order, and none when
    /// the run is stopped meanwhile.
    pub(super) fn list_many(&self, questions: Vec<Question>) -> Vec<Result<Vec<Document>, Error>> {
        let answers = self.answers(self.criteria.clone(), questions);
        self.until_stopped(answers.collect()).unwrap_or_default()
    }

    /// Waits for something unless the run is stopped meanwhile.
    pub(super) fn until_stopped<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        let mut future = std::pin::pin!(future);
        loop {
            let glance = async { tokio::time::timeout(GLANCE, &mut future).await };
            if let Ok(done) = self.wait(glance) {
                return Some(done);
            }
            if self.stop.is_reached() {
                return None;
            }
        }
    }

    /// Asks several questions, however long they take; answers in order, and none when the run is stopped
    /// meanwhile: the connections are closed then, at which the server gives up, too.
    pub(super) fn list_long(
        &self,
        questions: Vec<Question>,
    ) -> Option<Vec<Result<Vec<Document>, Error>>> {
        let ask = |question| asked(self.client.clone(), self.criteria.clone(), question);
        self.until_stopped(stream::iter(questions).map(ask).buffered(POOL as usize).collect())
    }

    /// The answers to questions, in their order, as many at a time as there are connections.
    fn answers(
        &self,
        criteria: SelectionCriteria,
        questions: Vec<Question>,
    ) -> impl Stream<Item = Result<Vec<Document>, Error>> + use<> {
        let (client, silences) = (self.client.clone(), Arc::clone(&self.silences));
        let ask = move |question: Question| {
            let (client, criteria, silences) = (client.clone(), criteria.clone(), silences.clone());
            async move {
                let read = question.1;
                if silences.is_given_up(read) {
                    return Err(unanswered(Unanswered::NotAsked));
                }
                let again = (client.clone(), criteria.clone(), question.clone());
                let mut answer = in_time(asked(client, criteria, question)).await;
                if answer.as_ref().is_err_and(is_worth_another) {
                    tokio::time::sleep(PAUSE).await;
                    answer = in_time(asked(again.0, again.1, again.2)).await;
                }
                silences.note(read, &answer);
                answer
            }
        };
        stream::iter(questions).map(ask).buffered(POOL as usize)
    }

    /// Opens a cursor on documents, in batches of about so many.
    pub(super) fn cursor(
        &self,
        namespace: &Namespace,
        way: Way,
        filter: Option<Document>,
        batch_size: u32,
        from_primary: bool,
    ) -> impl Future<Output = Result<RawBatchCursor, Error>> + Send + 'static {
        let primary = SelectionCriteria::ReadPreference(ReadPreference::Primary);
        let criteria = if from_primary { primary } else { self.criteria.clone() };
        let collection = self.collection_of(namespace, criteria);
        async move {
            let stage = match way {
                Way::Random(size) => {
                    doc! { "$sample": { "size": i64::try_from(size).unwrap_or(i64::MAX) } }
                }
                Way::Share(rate) => doc! { "$match": { "$sampleRate": rate } },
                Way::Everything | Way::First(_) => {
                    let mut options = FindOptions::builder()
                        .batch_size(batch_size)
                        .hint(Hint::Keys(doc! { "$natural": 1 }))
                        .build();
                    if let Way::First(limit) = way {
                        options.limit = i64::try_from(limit).ok();
                    }
                    // Which documents are the first depends on the member otherwise.
                    if filter.is_some() {
                        options.hint = Some(Hint::Keys(doc! { "_id": 1 }));
                        options.sort = Some(doc! { "_id": 1 });
                    }
                    let filter = filter.unwrap_or_default();
                    return collection.find(filter).with_options(options).batch().await;
                }
            };
            let options = AggregateOptions::builder().batch_size(batch_size).build();
            collection.aggregate([stage]).with_options(options).batch().await
        }
    }

    /// A collection to open several cursors on.
    pub(super) fn reading(&self, namespace: &Namespace) -> Reading {
        Reading(self.collection(namespace))
    }

    fn collection(&self, namespace: &Namespace) -> Collection<RawDocumentBuf> {
        self.collection_of(namespace, self.criteria.clone())
    }

    fn collection_of(
        &self,
        namespace: &Namespace,
        criteria: SelectionCriteria,
    ) -> Collection<RawDocumentBuf> {
        let options = CollectionOptions::builder().selection_criteria(criteria);
        let database = self.client.database(&namespace.database);
        database.collection_with_options(&namespace.collection, options.build())
    }

    /// Documents by their `_id`s, or only those of them that are there.
    pub(super) fn by_ids(
        &self,
        namespace: &Namespace,
        ids: Vec<Bson>,
        ids_only: bool,
    ) -> impl Future<Output = Result<Vec<RawDocumentBuf>, Error>> + use<> {
        let collection = self.collection(namespace);
        async move {
            let mut options = FindOptions::default();
            options.projection = ids_only.then(|| doc! { "_id": 1 });
            let wanted = doc! { "_id": { "$in": ids } };
            in_time(async {
                let cursor = collection.find(wanted).with_options(options).await?;
                cursor.try_collect().await
            })
            .await
        }
    }

    /// Documents by their `_id`s out of several collections, in the order of the questions and as many at a
    /// time as there are connections.
    pub(super) fn by_ids_of_many(
        &self,
        asked: Vec<Asked>,
    ) -> impl Future<Output = Vec<Result<Vec<RawDocumentBuf>, Error>>> + use<> {
        let ask = |(namespace, ids, ids_only): Asked| self.by_ids(&namespace, ids, ids_only);
        let questions: Vec<_> = asked.into_iter().map(ask).collect();
        stream::iter(questions).buffered(POOL as usize).collect()
    }

    /// Waits for the driver.
    pub(super) fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    /// Lets the driver work on its own thread.
    pub(super) fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        self.runtime.spawn(future);
    }
}

/// What a question brings.
async fn asked(
    client: Client,
    criteria: SelectionCriteria,
    (database, read, rest): Question,
) -> Result<Vec<Document>, Error> {
    let database = client.database(&database);
    let question = database.run_cursor_command(command(read, rest));
    let answer = question.selection_criteria(criteria).await?.with_type::<RawDocumentBuf>();
    // One name that is not UTF-8 must not cost the answer.
    let readable =
        |row: RawDocumentBuf| async move { Ok(Utf8Lossy::<Document>::try_from(row.as_ref())?.0) };
    answer.and_then(readable).try_collect().await
}

/// An answer, unless the server says nothing for too long.
async fn in_time<T>(answer: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let silent = |_| Err(unanswered(Unanswered::Silent(SILENCE)));
    tokio::time::timeout(SILENCE, answer).await.unwrap_or_else(silent)
}

/// Whether a question should be asked again: not when the driver has looked for a server as long as it may.
fn is_worth_another(error: &Error) -> bool {
    is_passing(error) && !is_unreachable(error)
}

pub(super) fn runtime() -> std::io::Result<Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("docward-driver")
        .enable_all()
        .build()
}

/// Whether a server only votes. It has no users either, and would ask for a login in vain.
fn is_arbiter(hello: &Document) -> bool {
    hello.get_bool("arbiterOnly").is_ok_and(|only| only)
}

fn failed(what: &str, why: String) -> LiveTrouble {
    LiveTrouble::Failed { what: what.to_owned(), why, rest: "nothing was read from it" }
}

fn command(read: Read, rest: Document) -> Document {
    let mut rest = rest;
    let mut command = doc! { read.name(): rest.remove(read.name()).unwrap_or(1.into()) };
    command.extend(rest);
    command
}

fn mode(criteria: &SelectionCriteria) -> &'static str {
    match criteria {
        SelectionCriteria::ReadPreference(preference) => match preference {
            ReadPreference::Primary => "primary",
            ReadPreference::Secondary { .. } => "secondary",
            ReadPreference::PrimaryPreferred { .. } => "primaryPreferred",
            ReadPreference::SecondaryPreferred { .. } => "secondaryPreferred",
            ReadPreference::Nearest { .. } => "nearest",
            _ => "other",
        },
        _ => "other",
    }
}

/// A reply as a catalogue tree; dates and binary data have no place there.
pub(super) fn tree(document: &Document) -> Value {
    document.to_vec().ok().and_then(|bytes| to_value(&bytes).ok()).unwrap_or(Value::Null)
}

/// A whole number, whatever type the server chose for it.
pub(super) fn number(document: &Document, key: &str) -> Option<u64> {
    let number = match document.get(key)? {
        Bson::Int32(n) => i64::from(*n),
        Bson::Int64(n) => *n,
        Bson::Double(n) if n.is_finite() => *n as i64,
        _ => return None,
    };
    u64::try_from(number).ok()
}

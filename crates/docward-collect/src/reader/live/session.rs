//! A connection to a deployment, and the permitted requests: commands that only read, and cursors
//! on documents.

use std::{
    cell::Cell,
    future::Future,
    sync::{
        Arc, Mutex, PoisonError,
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
    load::{self, Load},
};
use crate::trouble::LiveTrouble;

/// The default time limit for finding a server.
const PATIENCE: Duration = Duration::from_secs(5);

/// The number of consecutive requests of one command that may time out; after that, no more of them
/// are sent.
const UNANSWERED: usize = 2;

/// The pause before a request is retried: the driver has to discover the new primary first.
const PAUSE: Duration = Duration::from_millis(500);

/// The default number of connections to each server.
const POOL: u32 = 4;

/// The commands that Docward sends. None of them changes anything.
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
    /// The number of commands.
    const COUNT: usize = Self::UsersInfo as usize + 1;

    pub(super) fn name(self) -> &'static str {
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

/// A database, a command, and the rest of the command document.
pub(super) type Question = (String, Read, Document);

/// A collection, `_id`s in it, and whether only the ids of existing documents are requested.
pub(super) type Asked = (Namespace, Vec<Bson>, bool);

/// The method of reading documents from a collection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ReadMethod {
    /// All documents, in natural order.
    Everything,
    /// This many documents, by a random walk.
    Random(u64),
    /// About this share, drawn at random, in natural order.
    Share(f64),
    /// The first documents.
    First(u64),
}

/// Documents between two `_id`s, including the lower one. Index bounds span all types, while a
/// comparison in a filter would leave out other types.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Bounds {
    pub(super) from: Option<Bson>,
    pub(super) to: Option<Bson>,
}

/// A collection that is read in ranges.
pub(super) struct Reading(Collection<RawDocumentBuf>);

impl Reading {
    /// Opens a cursor on the documents between two `_id`s, in index order.
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

/// The conditions that end waiting for a response: the run is stopped, or its time limit is
/// reached.
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

/// The requests that no server has answered.
#[derive(Default)]
struct Silences {
    /// The number of consecutive requests that timed out, per command: a server blocked on one lock
    /// still answers other commands.
    of: [AtomicUsize; Read::COUNT],
    /// The time since which the driver finds no server.
    lost: Mutex<Option<Instant>>,
}

impl Silences {
    fn is_given_up(&self, read: Read) -> bool {
        let lost = *self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        self.of[read as usize].load(Ordering::Relaxed) >= UNANSWERED
            // After a while, one request tries again.
            || lost.is_some_and(|since| (SILENCE..2 * SILENCE).contains(&since.elapsed()))
    }

    /// Records an answer. `began` is the beginning of a request that any server could answer.
    fn note<T>(&self, read: Read, began: Option<Instant>, answer: &Result<T, Error>) {
        let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        match (answer, began) {
            (Err(error), began) if matches!(*error.kind, ErrorKind::ServerSelection { .. }) => {
                let is_recent = lost.is_some_and(|since| since.elapsed() < 2 * SILENCE);
                if !is_recent {
                    *lost = began.or(*lost);
                }
            }
            _ => *lost = None,
        }
        drop(lost);
        let silences = &self.of[read as usize];
        match answer {
            Err(error) if is_silent(error) => silences.fetch_add(1, Ordering::Relaxed),
            _ => silences.swap(0, Ordering::Relaxed),
        };
    }
}

/// A deployment that responded. The driver's client is private to it, so no other code can write
/// with it.
pub(crate) struct Session<'r> {
    /// The hosts of the connection string; never the user or options.
    pub(crate) name: String,
    /// The read preference mode of requests.
    pub(super) read_preference: &'static str,
    /// True if the connection string sets the read preference.
    pub(super) prefers: bool,
    /// True if the connection string has credentials.
    pub(super) logged_in: bool,
    /// The database of the connection string.
    pub(super) default_database: Option<String>,
    /// True if the connection is direct: only the named server is used, whatever set it belongs to.
    pub(super) direct: bool,
    client: Client,
    criteria: SelectionCriteria,
    runtime: Runtime,
    stop: Stop<'r>,
    silences: Arc<Silences>,
    load: Arc<Load>,
}

impl<'r> Session<'r> {
    /// Connects and waits for a first response; a failure contains the name of the source.
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
        let source = options.credential.as_ref().and_then(|c| c.source.clone());
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
        // Servers record the application name, so Docward can recognise its own operations.
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
            load: Arc::default(),
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
                    ErrorKind::Authentication { .. } => {
                        LiveTrouble::Login { user, database: source, why }
                    }
                    ErrorKind::ServerSelection { .. } | ErrorKind::Io(_) => session
                        .other_set(asked)
                        .unwrap_or(LiveTrouble::Unreachable { patience, why, certified }),
                    _ => failed("the first question", why),
                };
                Err((session.name, trouble))
            }
        }
    }

    /// Watches how busy the server is, and makes pauses between requests while it is.
    pub(super) fn watch_load(&self) {
        self.spawn(load::watch(self.client.clone(), Arc::downgrade(&self.load)));
    }

    /// The load of the server.
    pub(super) fn load(&self) -> Arc<Load> {
        Arc::clone(&self.load)
    }

    /// Returns whether no data can be read without a login. A list of databases would be empty.
    fn asks_for_login(&self) -> bool {
        let answer = self.ask("admin", Read::GetCmdLineOpts, Document::new());
        answer.is_err_and(|error| is_forbidden(&error))
    }

    /// Returns whether the localhost exception applies. As long as there are no users, a server
    /// lets local clients create the first one and answers this one request. Otherwise it refuses
    /// the request without a login.
    fn lets_create_the_first_user(&self) -> bool {
        let answer = self.ask("admin", Read::ReplSetGetStatus, Document::new());
        // Not running as a replica set, or not initiated yet.
        answer.map_or_else(|error| matches!(code(&error), Some(76 | 94)), |_| true)
    }

    /// Returns an error if no server matches because it belongs to another replica set than
    /// requested.
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

    /// Requests one document. `rest` is the command without its name; the value of the name is 1
    /// unless given.
    pub(super) fn ask(
        &self,
        database: &str,
        read: Read,
        rest: Document,
    ) -> Result<Document, Error> {
        self.ask_within(database, read, rest, SILENCE)
    }

    /// Sends a request that may take long on the server.
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

    /// Sends a request and returns the reply as a catalogue value.
    pub(super) fn ask_value(
        &self,
        database: &str,
        read: Read,
        rest: Document,
    ) -> Result<Value, Error> {
        self.ask(database, read, rest).map(|reply| tree(&reply))
    }

    /// Requests a list of documents.
    pub(super) fn list(
        &self,
        database: &str,
        read: Read,
        rest: Document,
    ) -> Result<Vec<Document>, Error> {
        self.list_as(database, read, rest, Some)
    }

    /// Requests a list of documents and maps each of them at once, because a list may be long.
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

    /// Requests a list of documents from one member of a set, or from any. Stops at this many
    /// bytes, and returns whether it did.
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

    /// Retries when a network failure or a change of the primary lost the response. This is safe
    /// for reads, and the driver does not retry commands itself.
    fn twice<T>(&self, mut ask: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
        match ask() {
            Err(error) if is_worth_another(&error) && !self.stop.is_reached() => {
                std::thread::sleep(PAUSE);
                ask()
            }
            answer => answer,
        }
    }

    /// Waits for a response, but not beyond the end of the run, and not if the server has been
    /// silent since `last` for too long.
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
        let began = Instant::now();
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
        self.silences.note(read, Some(began), &answer);
        let pause = self.load.pause(began.elapsed());
        if !pause.is_zero() {
            self.until_stopped(async { tokio::time::sleep(pause).await });
        }
        answer
    }

    /// Selects one member of a set, or any.
    fn of_member(&self, member: Option<&str>) -> SelectionCriteria {
        match member.and_then(|host| ServerAddress::parse(host).ok()) {
            Some(address) => {
                SelectionCriteria::Predicate(Arc::new(move |server| *server.address() == address))
            }
            None => self.criteria.clone(),
        }
    }

    /// Sends several requests to one member in parallel; responses are in order. If the member
    /// becomes unreachable, the rest is not sent, because waiting for it takes seconds each time.
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

    /// Sends several requests, as many in parallel as there are connections. Responses are in
    /// order; none if the run is stopped in the meantime.
    pub(super) fn list_many(&self, questions: Vec<Question>) -> Vec<Result<Vec<Document>, Error>> {
        let answers = self.answers(self.criteria.clone(), questions);
        self.until_stopped(answers.collect()).unwrap_or_default()
    }

    /// Waits for a future unless the run is stopped in the meantime.
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

    /// Sends several requests without a time limit. Responses are in order. There are none if the
    /// run is stopped in the meantime: the connections are then closed, and the server also aborts.
    pub(super) fn list_long(
        &self,
        questions: Vec<Question>,
    ) -> Option<Vec<Result<Vec<Document>, Error>>> {
        let ask = |question| asked(self.client.clone(), self.criteria.clone(), question);
        self.until_stopped(stream::iter(questions).map(ask).buffered(POOL as usize).collect())
    }

    /// The responses to requests, in order, with as many in parallel as there are connections.
    fn answers(
        &self,
        criteria: SelectionCriteria,
        questions: Vec<Question>,
    ) -> impl Stream<Item = Result<Vec<Document>, Error>> + use<> {
        let (client, silences) = (self.client.clone(), Arc::clone(&self.silences));
        let load = self.load();
        let ask = move |question: Question| {
            let (client, criteria, silences) = (client.clone(), criteria.clone(), silences.clone());
            let load = Arc::clone(&load);
            async move {
                let (read, began) = (question.1, Instant::now());
                if silences.is_given_up(read) {
                    return Err(unanswered(Unanswered::NotAsked));
                }
                let again = (client.clone(), criteria.clone(), question.clone());
                let mut answer = in_time(asked(client, criteria, question)).await;
                if answer.as_ref().is_err_and(is_worth_another) {
                    tokio::time::sleep(PAUSE).await;
                    answer = in_time(asked(again.0, again.1, again.2)).await;
                }
                silences.note(read, None, &answer);
                tokio::time::sleep(load.pause(began.elapsed())).await;
                answer
            }
        };
        stream::iter(questions).map(ask).buffered(POOL as usize)
    }

    /// Opens a cursor on documents, with batches of about this size.
    pub(super) fn cursor(
        &self,
        namespace: &Namespace,
        way: ReadMethod,
        filter: Option<Document>,
        batch_size: u32,
        from_primary: bool,
    ) -> impl Future<Output = Result<RawBatchCursor, Error>> + Send + 'static {
        let primary = SelectionCriteria::ReadPreference(ReadPreference::Primary);
        let criteria = if from_primary { primary } else { self.criteria.clone() };
        let collection = self.collection_of(namespace, criteria);
        async move {
            let stage = match way {
                ReadMethod::Random(size) => {
                    doc! { "$sample": { "size": i64::try_from(size).unwrap_or(i64::MAX) } }
                }
                ReadMethod::Share(rate) => doc! { "$match": { "$sampleRate": rate } },
                ReadMethod::Everything | ReadMethod::First(_) => {
                    let mut options = FindOptions::builder()
                        .batch_size(batch_size)
                        .hint(Hint::Keys(doc! { "$natural": 1 }))
                        .build();
                    if let ReadMethod::First(limit) = way {
                        options.limit = i64::try_from(limit).ok();
                    }
                    // Otherwise the set of first documents would depend on the member.
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

    /// Fetches documents by their `_id`s, or only the ids that exist.
    pub(super) fn by_ids(
        &self,
        namespace: &Namespace,
        ids: Vec<Bson>,
        ids_only: bool,
    ) -> impl Future<Output = Result<Vec<RawDocumentBuf>, Error>> + use<> {
        let collection = self.collection(namespace);
        let load = self.load();
        async move {
            let began = Instant::now();
            let mut options = FindOptions::default();
            options.projection = ids_only.then(|| doc! { "_id": 1 });
            let wanted = doc! { "_id": { "$in": ids } };
            let found = in_time(async {
                let cursor = collection.find(wanted).with_options(options).await?;
                cursor.try_collect().await
            })
            .await;
            tokio::time::sleep(load.pause(began.elapsed())).await;
            found
        }
    }

    /// Fetches documents by their `_id`s from several collections, in the order of the requests, as
    /// many in parallel as there are connections.
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

    /// Runs a future on the driver's thread.
    pub(super) fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        self.runtime.spawn(future);
    }
}

/// The response to a request.
async fn asked(
    client: Client,
    criteria: SelectionCriteria,
    (database, read, rest): Question,
) -> Result<Vec<Document>, Error> {
    let database = client.database(&database);
    let question = database.run_cursor_command(command(read, rest));
    let answer = question.selection_criteria(criteria).await?.with_type::<RawDocumentBuf>();
    // One name that is not UTF-8 must not fail the whole response.
    let readable =
        |row: RawDocumentBuf| async move { Ok(Utf8Lossy::<Document>::try_from(row.as_ref())?.0) };
    answer.and_then(readable).try_collect().await
}

/// A response, unless the server is silent for too long.
async fn in_time<T>(answer: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let silent = |_| Err(unanswered(Unanswered::Silent(SILENCE)));
    tokio::time::timeout(SILENCE, answer).await.unwrap_or_else(silent)
}

/// Returns whether a request should be retried: not if the driver already waited for a server until
/// its time limit.
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

/// Returns whether a server is an arbiter. It has no users, so a login would fail.
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

/// A reply as a catalogue value; dates and binary data are not supported there.
pub(super) fn tree(document: &Document) -> Value {
    document.to_vec().ok().and_then(|bytes| to_value(&bytes).ok()).unwrap_or(Value::Null)
}

/// An integer, whatever numeric type the server used.
pub(super) fn number(document: &Document, key: &str) -> Option<u64> {
    let number = match document.get(key)? {
        Bson::Int32(n) => i64::from(*n),
        Bson::Int64(n) => *n,
        Bson::Double(n) if n.is_finite() => *n as i64,
        _ => return None,
    };
    u64::try_from(number).ok()
}

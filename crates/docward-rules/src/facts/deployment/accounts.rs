//! Accounts: the rights that their roles grant, and the clients that use them.

use docward_model::{
    AUDIT_ROLE, ClientUri, CustomRole, Evidence, Namespace, PrivilegePlace, Purpose, RolePrivilege,
    Settings, ThresholdSetting, User,
};

use crate::facts::{deployment::server, names};

/// Words in the names of administrators' accounts.
pub const ADMINISTRATORS: &[&str] = &[
    "admin",
    "administrator",
    "dbadmin",
    "sysadmin",
    "useradmin",
    "clusteradmin",
    "mongoadmin",
    "root",
    "dba",
    "ops",
    "backup",
    "docward",
    "monitor",
    "monitoring",
    "exporter",
    "agent",
    "mms",
    "pbm",
    "operator",
    "owner",
];

/// Whether the words of a name contain this one, or these in sequence: `dba` is in `dba-li`, not in `feedback`.
pub fn names_word(name: &str, word: &str) -> bool {
    let (name, word) = (names::words(name), names::words(word));
    !word.is_empty() && name.windows(word.len()).any(|part| part == word)
}

/// Whether the name of an account marks it as an administrator's, as S004 is configured.
pub fn administers(settings: &Settings, user: &User) -> bool {
    let more = match settings.threshold_at("S004", "administrator-names", None) {
        Some(ThresholdSetting::Words(more)) => more.as_slice(),
        _ => &[],
    };
    let mut words = ADMINISTRATORS.iter().copied().chain(more.iter().map(String::as_str));
    words.any(|word| names_word(&user.name, word))
}

/// The rights of an account on documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Insert or update them.
    Write,
    /// Store documents that break the validator.
    Bypass,
}

impl Act {
    /// Whether one of the server's built-in roles allows it in a database.
    fn is_in(self, (at, role): &Role, database: &str) -> bool {
        match (self, role.as_str()) {
            (_, "root" | "__system") => at == "admin",
            (Self::Write, "readWriteAnyDatabase") => at == "admin",
            (Self::Bypass, "dbAdminAnyDatabase" | "restore") => at == "admin",
            (_, "dbOwner") | (Self::Write, "readWrite") | (Self::Bypass, "dbAdmin") => {
                at == database
            }
            _ => false,
        }
    }
}

/// Roles of an account that allow it on a collection, as messages list them.
pub fn roles_for(evidence: &Evidence, user: &User, act: Act, at: &Namespace) -> Vec<String> {
    let own = user.roles.iter().filter(|role| act.is_in(role, &at.database));
    let covers = |(database, collection): &(String, String)| {
        (database.is_empty() || *database == at.database)
            && (collection.is_empty() || *collection == at.collection)
    };
    let held = custom_roles(evidence, user).filter(|role| {
        let places = if act == Act::Write { &role.writes } else { &role.bypasses };
        places.iter().any(covers) || role.inherits.iter().any(|r| act.is_in(r, &at.database))
    });
    let mut words: Vec<String> = own.map(|(db, role)| format!("{role}@{db}")).collect();
    words.extend(held.map(|role| format!("{}@{}", role.name, role.database)));
    words
}

/// A role as (database, role).
pub type Role = (String, String);

/// Roles of an account that let it do more than read and write one business database.
#[derive(Debug)]
pub struct Powers<'a> {
    /// The powerful roles that the account has directly.
    pub own: Vec<&'a Role>,
    /// Custom roles, with the powerful roles or else the privileges in each, in words.
    pub held: Vec<(&'a CustomRole, Vec<String>)>,
}

impl<'a> Powers<'a> {
    /// Returns the rights of an account.
    pub fn of(evidence: &'a Evidence, user: &'a User) -> Self {
        let powerful = |roles: &'a [Role]| -> Vec<&'a Role> {
            roles.iter().filter(|(_, role)| is_powerful(role)).collect()
        };
        let power = |role: &'a CustomRole| {
            let named = powerful(&role.inherits);
            match named.is_empty() {
                // The account of the audit must read everything.
                true if role.name == AUDIT_ROLE => {
                    let mut powers = powerful_privileges(evidence, role);
                    powers.retain(|power| !power.starts_with("find "));
                    (role, powers)
                }
                true => (role, powerful_privileges(evidence, role)),
                // Their privileges are among those of the role, so listing them would repeat it.
                false => (role, named.iter().map(|(db, role)| format!("{role}@{db}")).collect()),
            }
        };
        let held = custom_roles(evidence, user).map(power).filter(|(_, power)| !power.is_empty());
        Self { own: powerful(&user.roles), held: held.collect() }
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.own.is_empty() && self.held.is_empty()
    }

    /// The roles as messages list them: `root@admin`, `root@admin by app@admin`.
    pub fn words(&self) -> Vec<String> {
        let own = self.own.iter().map(|(db, role)| format!("{role}@{db}"));
        let held = self.held.iter().flat_map(|(by, powers)| {
            powers.iter().map(move |power| format!("{power} by {}@{}", by.name, by.database))
        });
        own.chain(held).collect()
    }
}

/// Actions that make an account an administrator on any resource: an account that may grant roles may grant all of them
/// to itself.
const ADMINISTRATION: &[&str] = &[
    "anyAction",
    "internal",
    "createUser",
    "dropUser",
    "changePassword",
    "grantRole",
    "revokeRole",
    "createRole",
    "dropRole",
    "impersonate",
    "shutdown",
    "setParameter",
    "replSetReconfig",
    "replSetStateChange",
    "addShard",
    "removeShard",
    "setFeatureCompatibilityVersion",
    "killAnySession",
    "applyOps",
];

/// Actions that change the structure of a business database, which `readWrite` does not allow. V010 reports the right
/// to bypass validators.
const DATABASE_ADMINISTRATION: &[&str] = &["dropDatabase", "collMod", "enableProfiler"];

/// Actions on documents, which an application needs only on its own database.
const WORK: &[&str] = &["find", "insert", "update", "remove"];

/// Describes the privileges of a role that allow more than reading and writing one database. If the privileges were
/// not read, only the known write permissions count.
fn powerful_privileges(evidence: &Evidence, role: &CustomRole) -> Vec<String> {
    let asked = evidence.server.as_ref().and_then(|server| server.role_privileges.as_ref());
    let Some(all) = asked else {
        let everywhere = role.writes.iter().any(|(db, at)| db.is_empty() && at.is_empty());
        return everywhere
            .then(|| "insert or update in every database".to_owned())
            .into_iter()
            .collect();
    };
    let own = all.iter().filter(|p| p.role.0 == role.database && p.role.1 == role.name);
    let mut words: Vec<String> = own.filter_map(|p| powerful_actions(role, p)).collect();
    words.sort();
    words.dedup();
    words
}

fn powerful_actions(role: &CustomRole, privilege: &RolePrivilege) -> Option<String> {
    let place = &privilege.place;
    let in_every_database = match place {
        PrivilegePlace::Everywhere => true,
        PrivilegePlace::Cluster => false,
        PrivilegePlace::Collections(db, collection) => db.is_empty() && collection.is_empty(),
    };
    let in_business = match place {
        PrivilegePlace::Everywhere => true,
        PrivilegePlace::Cluster => false,
        PrivilegePlace::Collections(db, _) => !server::is_system_database(db),
    };
    // A backup reads everything but is not an administrator.
    let backs_up = role.inherits.iter().any(|(_, role)| role == "backup");
    let is_powerful = |action: &&str| {
        ADMINISTRATION.contains(action)
            || (in_business && DATABASE_ADMINISTRATION.contains(action))
            || (in_every_database && WORK.contains(action) && !(backs_up && *action == "find"))
    };
    let actions: Vec<&str> =
        privilege.actions.iter().map(String::as_str).filter(is_powerful).collect();
    let actions = match actions.as_slice() {
        [] => return None,
        all if all.contains(&"anyAction") => "anyAction".to_owned(),
        [first, second, third, rest @ ..] if !rest.is_empty() => {
            format!("{first}, {second}, {third} and {} more actions", rest.len())
        }
        all => all.join(", "),
    };
    Some(match place {
        PrivilegePlace::Everywhere => format!("{actions} on every resource"),
        PrivilegePlace::Cluster => format!("{actions} on the cluster"),
        PrivilegePlace::Collections(db, _) if db.is_empty() => {
            format!("{actions} in every database")
        }
        PrivilegePlace::Collections(db, _) => format!("{actions} in {db}"),
    })
}

/// The custom roles of an account whose privileges were not read.
pub fn unread_roles(evidence: &Evidence, user: &User) -> Vec<String> {
    let server = evidence.server.as_ref().filter(|server| server.role_privileges.is_some());
    let read = |(db, role): &&Role| {
        let mut known = server.iter().flat_map(|server| &server.custom_roles);
        known.any(|known| known.database == *db && known.name == *role)
    };
    let unread = user.roles.iter().filter(|role| !is_built_in(&role.1) && !read(role));
    unread.map(|(db, role)| format!("{role}@{db}")).collect()
}

/// Whether an account has a role.
pub fn has_role(user: &User, database: &str, name: &str) -> bool {
    user.roles.iter().any(|(db, role)| db == database && role == name)
}

/// The custom roles of an account.
fn custom_roles<'a>(
    evidence: &'a Evidence,
    user: &'a User,
) -> impl Iterator<Item = &'a CustomRole> {
    let custom = evidence.server.iter().flat_map(|server| &server.custom_roles);
    custom.filter(|role| has_role(user, &role.database, &role.name))
}

/// Whether a role of this name is built into the server; all others are custom roles.
pub fn is_built_in(role: &str) -> bool {
    is_powerful(role)
        || matches!(
            role,
            "read"
                | "readWrite"
                | "clusterMonitor"
                | "enableSharding"
                | "backup"
                | "directShardOperations"
        )
}

/// Whether a role lets an account do more than read and write one database.
pub fn is_powerful(role: &str) -> bool {
    role.ends_with("AnyDatabase")
        || matches!(
            role,
            "root"
                | "__system"
                | "dbOwner"
                | "dbAdmin"
                | "userAdmin"
                | "clusterAdmin"
                | "clusterManager"
                | "hostManager"
                | "restore"
        )
}

/// Returns the business database that an account reads or writes, directly or through a custom role.
pub fn business_database<'a>(evidence: &'a Evidence, user: &'a User) -> Option<&'a str> {
    let held = || custom_roles(evidence, user);
    let by_roles = user.roles.iter().chain(held().flat_map(|role| &role.inherits));
    let by_roles =
        by_roles.filter(|(_, role)| matches!(role.as_str(), "readWrite" | "read" | "dbOwner"));
    // An empty name means any database, so it does not show which database the account uses.
    let by_privileges = held().flat_map(|role| &role.writes).filter(|(db, _)| !db.is_empty());
    let mut databases = by_roles.chain(by_privileges).map(|(db, _)| db.as_str());
    databases.find(|db| !server::is_system_database(db))
}

/// Connection strings of clients, without those of the sources.
pub fn clients(evidence: &Evidence) -> impl Iterator<Item = &ClientUri> {
    evidence.uris.iter().filter(|uri| uri.purpose == Purpose::Client)
}

/// Whether the connection string logs in with this account.
pub fn is_account_of(uri: &ClientUri, user: &User) -> bool {
    uri.user.as_ref() == Some(&user.name) && uri.auth_source == user.database
}

/// Whether a client is known to log in with this account.
pub fn is_used_by_client(evidence: &Evidence, user: &User) -> bool {
    clients(evidence).any(|uri| is_account_of(uri, user))
}

//! The commands that the guard knows. Each row says how the guard forwards a command, what right a user of the list
//! needs, and whether the command touches a single collection.

/// The treatment of a command by the guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// The guard answers it.
    Local,
    /// It reads, so the guard may send it twice.
    Read,
    /// It writes, or might.
    Write,
    /// It fetches the next batch of a cursor.
    GetMore,
    /// It closes cursors.
    KillCursors,
    /// It commits or aborts a transaction.
    EndTransaction,
    /// It cannot work through a connection pool.
    Refused,
}

/// The right that a user of the list needs to run a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// No right.
    Free,
    /// `read` on the command's database.
    Read,
    /// `readWrite` on the command's database.
    Write,
    /// No user of the list may run it.
    Denied,
}

/// One command.
#[derive(Debug)]
pub(crate) struct Command {
    pub(crate) name: &'static str,
    pub(crate) class: Class,
    pub(crate) access: Access,
    /// Whether the value of its first field names the only collection that the command accesses.
    pub(crate) is_single: bool,
}

const fn local(name: &'static str) -> Command {
    Command { name, class: Class::Local, access: Access::Free, is_single: false }
}

const fn read(name: &'static str, access: Access) -> Command {
    Command { name, class: Class::Read, access, is_single: true }
}

/// A write to one collection.
const fn write(name: &'static str) -> Command {
    Command { name, class: Class::Write, access: Access::Write, is_single: true }
}

/// A write that may touch several collections, or none.
const fn other(name: &'static str, access: Access) -> Command {
    Command { name, class: Class::Write, access, is_single: false }
}

const fn special(name: &'static str, class: Class) -> Command {
    Command { name, class, access: Access::Free, is_single: false }
}

/// All known commands, sorted by name.
static COMMANDS: [Command; 78] = [
    special("abortTransaction", Class::EndTransaction),
    read("aggregate", Access::Read),
    local("authenticate"),
    read("buildInfo", Access::Free),
    read("buildinfo", Access::Free),
    other("bulkWrite", Access::Write),
    write("collMod"),
    read("collStats", Access::Read),
    read("collstats", Access::Read),
    special("commitTransaction", Class::EndTransaction),
    other("compact", Access::Denied),
    read("connectionStatus", Access::Free),
    other("convertToCapped", Access::Denied),
    read("count", Access::Read),
    write("create"),
    write("createIndexes"),
    other("createRole", Access::Denied),
    other("createUser", Access::Denied),
    read("currentOp", Access::Denied),
    // Its value is a namespace of any database.
    read("dataSize", Access::Denied),
    read("dbHash", Access::Denied),
    read("dbStats", Access::Read),
    read("dbstats", Access::Read),
    write("delete"),
    other("deleteIndexes", Access::Denied),
    read("distinct", Access::Read),
    write("drop"),
    other("dropDatabase", Access::Denied),
    write("dropIndexes"),
    other("dropRole", Access::Denied),
    other("dropUser", Access::Denied),
    other("endSessions", Access::Free),
    read("explain", Access::Read),
    read("find", Access::Read),
    write("findAndModify"),
    write("findandmodify"),
    read("getCmdLineOpts", Access::Denied),
    read("getDefaultRWConcern", Access::Denied),
    special("getLastError", Class::Refused),
    read("getLog", Access::Denied),
    // The cursor table checks the owner.
    special("getMore", Class::GetMore),
    read("getParameter", Access::Denied),
    special("getlasterror", Class::Refused),
    other("grantRolesToUser", Access::Denied),
    local("hello"),
    read("hostInfo", Access::Denied),
    write("insert"),
    local("isMaster"),
    read("isSelf", Access::Denied),
    local("ismaster"),
    special("killCursors", Class::KillCursors),
    other("killOp", Access::Denied),
    other("killSessions", Access::Denied),
    read("listCollections", Access::Read),
    read("listCommands", Access::Denied),
    read("listDatabases", Access::Denied),
    read("listIndexes", Access::Read),
    local("logout"),
    other("mapReduce", Access::Denied),
    read("ping", Access::Free),
    other("profile", Access::Denied),
    other("refreshSessions", Access::Free),
    other("renameCollection", Access::Denied),
    read("replSetGetConfig", Access::Denied),
    read("replSetGetStatus", Access::Denied),
    read("rolesInfo", Access::Denied),
    local("saslContinue"),
    local("saslStart"),
    read("serverStatus", Access::Denied),
    other("setParameter", Access::Denied),
    other("startSession", Access::Denied),
    read("top", Access::Denied),
    write("update"),
    other("updateUser", Access::Denied),
    read("usersInfo", Access::Denied),
    read("validate", Access::Denied),
    local("whatsmyuri"),
    read("whichCollection", Access::Denied),
];

/// Looks up a command by its name.
pub(crate) fn find(name: &str) -> Option<&'static Command> {
    let at = COMMANDS.binary_search_by_key(&name, |command| command.name).ok()?;
    COMMANDS.get(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_sorted_and_found() {
        assert!(COMMANDS.is_sorted_by_key(|command| command.name));
        for command in &COMMANDS {
            assert_eq!(find(command.name).map(|found| found.name), Some(command.name));
        }
        assert!(find("newCommandOfTomorrow").is_none());
    }
}

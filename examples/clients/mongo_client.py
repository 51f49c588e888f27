"""MongoDB client for Python (PyMongo 4.2 or later).

Written by docward 0.1.0; regenerate it with `docward connect sdk --lang python`.

One client for the whole process: `shared_client()` creates it on first use and closes it when
the process ends. Logins and hosts come from the environment:

    MONGODB_USER, MONGODB_PASSWORD    the login
    MONGODB_HOSTS                     host:port, or several separated by commas; for SRV, only the name
    MONGODB_REPLICA_SET               the name of the replica set, if there is one
    MONGODB_TLS                       "false" if the servers do not support TLS

Differences from the rule book's samples:

- readPreference takes text; ReadPreference.SECONDARY_PREFERRED under that name raises ValueError (GC-26)
- a client must not be used on both sides of fork(); shared_client() creates one per process (SDK-ALL.3)
"""

import atexit
import logging
import os
import threading
from urllib.parse import quote

import pymongo

_log = logging.getLogger(__name__)

# Time limit of the health check, in seconds.
HEALTH_TIMEOUT_S = 5000 / 1000

OPTIONS = {
    "appName": "example",
    "authSource": "admin",
    # With SRV or a list of all mongos, the client keeps a pool of this size for each mongos (PF-2).
    "maxPoolSize": 150,
    "minPoolSize": 10,
    "maxIdleTimeMS": 120000,
    "waitQueueTimeoutMS": 5000,
    "connectTimeoutMS": 10000,
    # Some elections take longer: retry failed operations, or set 15000 (GC-29).
    "serverSelectionTimeoutMS": 5000,
    "retryWrites": True,
    "retryReads": True,
    "w": "majority",
    # Class core: core services must read their own writes (RP-1).
    # As text: PyMongo raises ValueError for an object here.
    "readPreference": "primary",
}


def _setting(name):
    value = os.environ.get(name, "")
    if not value:
        raise RuntimeError(f"the environment variable {name} is not set")
    return value


def _uri(scheme):
    user = quote(_setting("MONGODB_USER"), safe="")
    password = quote(_setting("MONGODB_PASSWORD"), safe="")
    return f"{scheme}://{user}:{password}@{_setting('MONGODB_HOSTS')}/"


def _client(scheme, **more):
    tls = os.environ.get("MONGODB_TLS", "true") != "false"
    # The driver connects in the background: check_connection() shows whether it succeeded.
    return pymongo.MongoClient(_uri(scheme), tls=tls, **OPTIONS, **more)


def connect_srv():
    """Connects through the SRV record of a sharded cluster. The driver finds new mongos by itself."""
    return _client("mongodb+srv")


def connect_replica_set():
    """Connects to a replica set. List all members in MONGODB_HOSTS."""
    return _client("mongodb", replicaSet=_setting("MONGODB_REPLICA_SET"))


def connect_load_balancer():
    """Connects through the load balancer in front of a sharded cluster."""
    return _client("mongodb")


def connect_all_mongos():
    """Connects to every mongos of a sharded cluster.

    Their addresses must be switched on at the provider, and MONGODB_HOSTS must follow when mongos are
    added or removed.
    """
    return _client("mongodb")


def check_connection(client, timeout_s=HEALTH_TIMEOUT_S):
    """Returns whether the primary (or a mongos) answers within `timeout_s`; never raises."""
    try:
        with pymongo.timeout(timeout_s):
            client.admin.command("ping")
        return True
    except Exception as error:  # A health check must not raise.
        _log.warning("MongoDB does not answer: %s", error)
        return False


_lock = threading.Lock()
_shared = None
_shared_pid = None


def shared_client():
    """Returns the one client of this process; after fork(), the child process gets its own."""
    global _shared, _shared_pid
    with _lock:
        if _shared is None or _shared_pid != os.getpid():
            _shared = connect_replica_set()
            _shared_pid = os.getpid()
        return _shared


def close_shared_client():
    """Closes the shared client; safe to call more than once."""
    global _shared
    with _lock:
        if _shared is not None and _shared_pid == os.getpid():
            _shared.close()
        _shared = None


atexit.register(close_shared_client)

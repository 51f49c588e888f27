/**
 * Runs `work` in one transaction: all of its writes happen, or none. Transient errors are retried for two minutes.
 */
function inTransaction(db, work) {
  const session = db.getMongo().startSession();
  const last = Date.now() + 120000;
  const has = (error, label) => typeof error.hasErrorLabel === "function" && error.hasErrorLabel(label);
  try {
    for (;;) {
      session.startTransaction({ readConcern: { level: "snapshot" }, writeConcern: { w: "majority" } });
      try {
        const result = work(session.getDatabase(db.getName()));
        for (;;) {
          try {
            session.commitTransaction();
            return result;
          } catch (error) {
            if (!has(error, "UnknownTransactionCommitResult") || Date.now() > last) throw error;
          }
        }
      } catch (error) {
        try {
          session.abortTransaction();
        } catch (ignored) {
          // It has ended already.
        }
        if (!has(error, "TransientTransactionError") || Date.now() > last) throw error;
        sleep(Math.random() * 20);
      }
    }
  } finally {
    session.endSession();
  }
}

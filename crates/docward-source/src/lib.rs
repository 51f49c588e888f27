//! What source code and configuration say about MongoDB: clients, statements, models, secrets.

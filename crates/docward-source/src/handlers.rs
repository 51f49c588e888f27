//! Code that runs repeatedly: handlers of requests and events, and loops, in the form of each framework.

use super::ir::{Expr, Function, Kind, ScopeId, ScopeKind, Unit};

/// Methods that register a handler for a path or event, on a receiver of these names.
const ROUTE_METHODS: [&str; 12] = [
    "get",
    "post",
    "put",
    "delete",
    "patch",
    "all",
    "head",
    "options",
    "route",
    "handle",
    "HandleFunc",
    "HandlerFunc",
];
const ROUTERS: [&str; 16] = [
    "app",
    "router",
    "route",
    "routes",
    "server",
    "api",
    "fastify",
    "bp",
    "blueprint",
    "r",
    "mux",
    "http",
    "e",
    "web",
    "group",
    "express",
];
/// Annotations of methods that answer requests.
const MAPPINGS: [&str; 22] = [
    "GetMapping",
    "PostMapping",
    "PutMapping",
    "DeleteMapping",
    "PatchMapping",
    "RequestMapping",
    "GET",
    "POST",
    "PUT",
    "DELETE",
    "PATCH",
    "Get",
    "Post",
    "Put",
    "Delete",
    "Patch",
    "All",
    "MessageMapping",
    "KafkaListener",
    "RabbitListener",
    "SubscribeMessage",
    "MessagePattern",
];
/// Types of parameters that only handlers have.
const HANDLER_TYPES: [&str; 12] = [
    "gin.Context",
    "echo.Context",
    "fiber.Ctx",
    "http.ResponseWriter",
    "http.Request",
    "iris.Context",
    "beego.Controller",
    "events.APIGatewayProxyRequest",
    "HttpServletRequest",
    "ServerRequest",
    "APIGatewayProxyRequestEvent",
    "NextApiRequest",
];
/// Classes whose methods named after a verb answer requests.
const HANDLER_CLASSES: [&str; 14] = [
    "View",
    "APIView",
    "ViewSet",
    "ModelViewSet",
    "GenericAPIView",
    "Resource",
    "MethodView",
    "RequestHandler",
    "HTTPEndpoint",
    "HttpServlet",
    "TemplateView",
    "ListView",
    "DetailView",
    "WebSocketHandler",
];
const VERBS: [&str; 17] = [
    "get",
    "post",
    "put",
    "delete",
    "patch",
    "head",
    "list",
    "create",
    "retrieve",
    "update",
    "destroy",
    "doGet",
    "doPost",
    "doPut",
    "doDelete",
    "dispatch",
    "handleRequest",
];

/// Returns a description of a function that runs once for every request, event or job.
pub(crate) fn handler<'t>(unit: &Unit<'t>, id: ScopeId, file: &str) -> Option<String> {
    let ScopeKind::Function(function) = &unit.scopes[id].kind else { return None };
    let dialect = unit.language.dialect();
    let name = |what: &str| {
        if function.name.is_empty() {
            what.to_owned()
        } else {
            format!("{what} `{}`", function.name)
        }
    };
    if let Some(what) = function.marks.iter().find_map(|mark| (dialect.handler_mark)(&mark.path)) {
        return Some(name(what));
    }
    if (dialect.is_serverless)(unit, function) {
        return Some(name("the function that a serverless platform calls,"));
    }
    if function.parameters.iter().any(|(_, class)| {
        HANDLER_TYPES.iter().any(|handler| class.trim_start_matches(['*', '&']).ends_with(handler))
    }) {
        return Some(name("the request handler"));
    }
    if let Some(what) = (dialect.handles)(unit, id, function, file) {
        return Some(what);
    }
    if let Some(to) = &function.passed_to
        && (dialect.is_route)(to)
    {
        return Some(format!("the handler given to `{to}`"));
    }
    let is_verb = VERBS.contains(&function.name);
    if let Some((class, _)) = unit.class(unit.scopes[id].parent)
        && let ScopeKind::Class { bases, .. } = &unit.scopes[class].kind
        && is_verb
        && bases.iter().any(|base| {
            HANDLER_CLASSES.contains(&base.rsplit('.').next().unwrap_or(base))
                || base.starts_with("RequestHandler")
        })
    {
        return Some(name("the request handler"));
    }
    None
}

/// Returns the kind of method that an annotation or decorator of these frameworks declares: Spring, JAX-RS, Nest.
pub(crate) fn mapping(path: &str) -> Option<&'static str> {
    let last = path.rsplit('.').next().unwrap_or(path);
    MAPPINGS.contains(&last).then_some("the request handler")
}

/// Whether a platform of serverless functions calls a function.
pub(crate) fn is_serverless(unit: &Unit<'_>, function: &Function<'_>) -> bool {
    (unit.language.dialect().is_serverless)(unit, function)
}

/// Whether a call registers a handler for a path or event: `app.get`.
pub(crate) fn is_route(to: &str) -> bool {
    let (receiver, method) = to.rsplit_once('.').unwrap_or(("", to));
    let router = receiver.rsplit('.').next().unwrap_or(receiver);
    let is_router = ROUTERS.contains(&router)
        || router.to_ascii_lowercase().ends_with("router")
        || router.to_ascii_lowercase().ends_with("routes");
    (is_router && ROUTE_METHODS.contains(&method)) || (router == "socket" && method == "on")
}

/// Returns a description of the nearest enclosing code that runs repeatedly. A loop that ends after the first success
/// is a retry and does not count.
pub(crate) fn repeated(unit: &Unit<'_>, scope: ScopeId, file: &str, text: &str) -> Option<String> {
    for id in unit.around(scope) {
        match &unit.scopes[id].kind {
            ScopeKind::Loop => {
                let body = text.get(unit.scopes[id].at..unit.scopes[id].end).unwrap_or_default();
                let tries = ["break", "return", "sleep", "retry", "retries", "attempt"];
                if !tries.iter().any(|word| body.contains(word)) {
                    return Some("a loop".to_owned());
                }
            }
            ScopeKind::Function(_) => return handler(unit, id, file),
            _ => {}
        }
    }
    None
}

/// The handler around a scope, ignoring loops; also through functions inside of it.
pub(crate) fn handler_around(unit: &Unit<'_>, scope: ScopeId, file: &str) -> Option<String> {
    unit.around(scope).find_map(|id| handler(unit, id, file))
}

/// Whether a framework calls a function once and keeps its result: a bean, a fixture, a start-up hook.
pub(crate) fn is_made_once(function: &Function<'_>) -> bool {
    const ONCE: [&str; 19] = [
        "lru_cache",
        "cache",
        "cached",
        "singleton",
        "Singleton",
        "fixture",
        "asynccontextmanager",
        "contextmanager",
        "on_event",
        "Bean",
        "Provides",
        "PostConstruct",
        "Produces",
        "cached_property",
        "BeforeAll",
        "BeforeEach",
        "Before",
        "BeforeClass",
        "st.cache_resource",
    ];
    function.marks.iter().any(|mark| {
        let last = mark.path.rsplit('.').next().unwrap_or(&mark.path);
        ONCE.contains(&last) || ONCE.contains(&mark.path.as_str()) || last.starts_with("cache_")
    }) || matches!(
        function.name,
        "main"
            | "Main"
            | "init"
            | "bootstrap"
            | "lifespan"
            | "startup"
            | "start"
            | "setUp"
            | "setUpClass"
            | "setup"
            | "onModuleInit"
            | "handle"
    )
}

/// Whether a file answers requests: it has a handler, or uses a web framework. If so, whether its process may live for
/// a few calls only.
pub(crate) fn serving(unit: &Unit<'_>, file: &str) -> Option<bool> {
    let is_framework = unit.language.dialect().is_framework;
    let is_next = |module: &str| module == "next" || module.starts_with("next/");
    let functions = || {
        unit.scopes.iter().enumerate().filter_map(|(id, scope)| match &scope.kind {
            ScopeKind::Function(function) => Some((id, function)),
            _ => None,
        })
    };
    let is_short_lived = unit.imports.iter().any(|import| is_next(&import.module))
        || functions().any(|(_, function)| is_serverless(unit, function));
    // `const app = require('express')()`.
    let mut is_required = false;
    unit.each(|_, expr| {
        let required = expr.call().filter(|call| call.method() == Some("require"));
        let module = required.and_then(|call| call.positional(0)).and_then(Expr::text);
        is_required |= module.is_some_and(|module| is_framework(&module));
    });
    let serves = is_required
        || unit.imports.iter().any(|import| is_framework(&import.module))
        || functions().any(|(id, _)| handler(unit, id, file).is_some());
    (serves || is_short_lived).then_some(is_short_lived)
}

/// Whether a list of libraries names a web framework: the program then answers requests. If so, whether its process may
/// live for a few calls only.
pub(crate) fn serving_by_libraries(file: &str, text: &str) -> Option<bool> {
    match file.rsplit('/').next().unwrap_or(file) {
        "package.json" => {
            let has = |name: &str| text.contains(&format!("\"{name}\":"));
            let frameworks = ["express", "fastify", "koa", "@nestjs/core", "@hapi/hapi", "hono"];
            let is_next = has("next");
            (is_next || frameworks.into_iter().any(has)).then_some(is_next)
        }
        "pom.xml" => {
            ["spring-boot-starter-web", "jersey-server", "quarkus-resteasy", "quarkus-rest"]
                .iter()
                .any(|name| text.contains(name))
                .then_some(false)
        }
        _ => None,
    }
}

/// Returns the calls of a name in the file, with the scope and the position of each call.
pub(crate) fn callers<'t>(unit: &Unit<'t>, name: &str) -> Vec<(ScopeId, usize)> {
    let mut found = Vec::new();
    unit.each(|scope, expr| {
        if let Some(call) = expr.call() {
            // `get_db()`, `self.get_db()`, `Depends(get_db)`.
            let called = call.method() == Some(name)
                && call
                    .receiver()
                    .is_none_or(|of| matches!(of.kind, Kind::Name("self" | "this" | "cls")));
            let depends = call.method() == Some("Depends")
                && call.positional(0).and_then(|arg| arg.last_name()) == Some(name);
            if called || depends {
                found.push((scope, expr.at));
            }
        }
    });
    found
}

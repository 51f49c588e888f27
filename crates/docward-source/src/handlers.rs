//! What runs again and again: handlers of requests and events, and loops, as frameworks have them.

use super::{
    Language,
    ir::{Expr, Function, Kind, Mark, ScopeId, ScopeKind, Unit},
};

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

/// Whether a function runs once for every request, event or job; in words.
pub(crate) fn handler<'t>(unit: &Unit<'t>, id: ScopeId, file: &str) -> Option<String> {
    let ScopeKind::Function(function) = &unit.scopes[id].kind else { return None };
    let name = |what: &str| {
        if function.name.is_empty() {
            what.to_owned()
        } else {
            format!("{what} `{}`", function.name)
        }
    };
    if let Some(what) = by_marks(function, unit.language) {
        return Some(name(what));
    }
    // `@route('/users')` of Bottle, which has an application of its own.
    let of_bottle = |mark: &Mark<'_>| {
        matches!(mark.path.as_str(), "route" | "get" | "post" | "put" | "delete" | "patch")
            && unit.import(&mark.path).is_some_and(|import| import.module == "bottle")
    };
    if unit.language == Language::Python && function.marks.iter().any(of_bottle) {
        return Some(name("the route"));
    }
    if is_serverless(unit, function) {
        return Some(name("the function that a serverless platform calls,"));
    }
    if function.parameters.iter().any(|(_, class)| {
        HANDLER_TYPES.iter().any(|handler| class.trim_start_matches(['*', '&']).ends_with(handler))
    }) {
        return Some(name("the request handler"));
    }
    if unit.language.is_script() && has_request_parameters(function) {
        return Some(name("the request handler"));
    }
    if unit.language == Language::Kotlin && function.passed_to.as_deref() == Some("getter") {
        return Some("the getter of a property".to_owned());
    }
    if let Some(to) = &function.passed_to
        && is_route(to, unit.language)
    {
        return Some(format!("the handler given to `{to}`"));
    }
    if unit.language.is_script()
        && function.exported
        && matches!(function.name, "GET" | "POST" | "PUT" | "DELETE" | "PATCH")
        && is_route_file(file)
    {
        return Some(name("the request handler"));
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
    let django = unit.language == Language::Python
        && function.parameters.first().is_some_and(|(name, _)| *name == "request")
        && (file.ends_with("views.py") || file.contains("/views/"));
    django.then(|| name("the view"))
}

fn by_marks(function: &Function<'_>, language: Language) -> Option<&'static str> {
    function.marks.iter().find_map(|mark| {
        let (receiver, last) = mark.path.rsplit_once('.').unwrap_or(("", &mark.path));
        match language {
            Language::Python => {
                if !receiver.is_empty()
                    && matches!(
                        last,
                        "route"
                            | "get"
                            | "post"
                            | "put"
                            | "delete"
                            | "patch"
                            | "websocket"
                            | "api_route"
                    )
                {
                    Some("the route")
                } else if matches!(
                    last,
                    "api_view" | "login_required" | "csrf_exempt" | "require_http_methods"
                ) {
                    Some("the view")
                } else if matches!(last, "task" | "shared_task" | "periodic_task")
                    && !receiver.starts_with("locust")
                {
                    Some("the task")
                } else {
                    None
                }
            }
            _ => MAPPINGS.contains(&last).then_some("the request handler"),
        }
    })
}

/// `exports.handler = async (event, context)`, `def lambda_handler(event, context)`.
pub(crate) fn is_serverless(unit: &Unit<'_>, function: &Function<'_>) -> bool {
    let first = function.parameters.first().map_or("", |(name, _)| *name);
    let named = matches!(function.name, "handler" | "lambda_handler" | "main_handler" | "handle");
    match unit.language {
        Language::Python => {
            matches!(function.name, "handler" | "lambda_handler" | "main_handler")
                && first == "event"
        }
        Language::Go => function
            .parameters
            .iter()
            .any(|(_, class)| class.contains("events.APIGateway") || class.contains("events.SQS")),
        language if language.is_script() => {
            (named && function.exported && matches!(first, "event" | "_event" | "evt"))
                || function.passed_to.as_deref().is_some_and(|to| {
                    to.ends_with("https.onRequest") || to.ends_with("https.onCall")
                })
        }
        _ => function.name == "handleRequest" && function.parameters.len() == 2,
    }
}

fn has_request_parameters(function: &Function<'_>) -> bool {
    let names: Vec<&str> = function.parameters.iter().map(|(name, _)| *name).collect();
    let is_request = |name: &str| matches!(name, "req" | "request" | "_req");
    match names.as_slice() {
        [request, response, ..] => {
            is_request(request) && matches!(*response, "res" | "response" | "reply" | "_res")
        }
        _ => false,
    }
}

fn is_route(to: &str, language: Language) -> bool {
    let (receiver, method) = to.rsplit_once('.').unwrap_or(("", to));
    if language == Language::Kotlin {
        return receiver.is_empty()
            && matches!(method, "get" | "post" | "put" | "delete" | "patch");
    }
    let router = receiver.rsplit('.').next().unwrap_or(receiver);
    let is_router = ROUTERS.contains(&router)
        || router.to_ascii_lowercase().ends_with("router")
        || router.to_ascii_lowercase().ends_with("routes");
    (is_router && ROUTE_METHODS.contains(&method)) || (router == "socket" && method == "on")
}

fn is_route_file(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.starts_with("route.") || file.contains("/api/") || file.contains("pages/api")
}

/// The nearest thing around that runs again and again, in words. A loop that is left once something
/// worked is an attempt, not a repetition.
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

/// The handler around a scope, loops aside; also through functions inside of it.
pub(crate) fn handler_around(unit: &Unit<'_>, scope: ScopeId, file: &str) -> Option<String> {
    unit.around(scope).find_map(|id| handler(unit, id, file))
}

/// Whether a function is one that keeps what it makes: a bean, a fixture, a start-up hook.
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

/// Modules of web frameworks, by how their names begin.
const FRAMEWORKS: [&str; 36] = [
    "express",
    "fastify",
    "koa",
    "@koa/",
    "@nestjs/common",
    "@hapi/",
    "hapi",
    "restify",
    "hono",
    "next",
    "nuxt",
    "apollo-server",
    "@apollo/server",
    "graphql-yoga",
    "http",
    "socket.io",
    "flask",
    "django",
    "rest_framework",
    "fastapi",
    "starlette",
    "sanic",
    "tornado",
    "aiohttp.web",
    "bottle",
    "falcon",
    "quart",
    "pyramid",
    "org.springframework.web",
    "jakarta.ws.rs",
    "javax.ws.rs",
    "jakarta.servlet",
    "javax.servlet",
    "io.ktor.server",
    "io.javalin",
    "io.undertow",
];
/// The same of Go, whose modules have a path.
const GO_FRAMEWORKS: [&str; 7] = [
    "net/http",
    "gin-gonic/gin",
    "labstack/echo",
    "gofiber/fiber",
    "gorilla/mux",
    "go-chi/chi",
    "google.golang.org/grpc",
];

/// Whether a file answers requests: it has a handler, or uses a web framework. Then, whether a process of it may live
/// for a few calls only.
pub(crate) fn serving(unit: &Unit<'_>, file: &str) -> Option<bool> {
    let is_framework = |module: &str| match unit.language {
        Language::Go => GO_FRAMEWORKS.iter().any(|known| module.contains(known)),
        _ => FRAMEWORKS.iter().any(|known| {
            module.strip_prefix(known).is_some_and(|rest| {
                known.ends_with('/') || rest.is_empty() || rest.starts_with(['/', '.', '-', '_'])
            })
        }),
    };
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

/// Whether a list of libraries names a web framework: then the program answers requests, wherever it does so. Whether
/// a process of it may live for a few calls only.
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

/// Names of functions that something in the file calls, with the scope of each call.
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

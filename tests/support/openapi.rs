//! Checks answers against the document of the API.

use std::sync::LazyLock;

use serde_json::Value;

/// The document of the API.
pub(crate) struct OpenApi(Value);

/// Panics unless an answer is as the document describes it. GraphQL has a schema of its own.
pub(crate) fn check_answer(method: &str, address: &str, status: u16, answer: &Value) {
    static API: LazyLock<OpenApi> = LazyLock::new(OpenApi::new);
    let address = address.split('?').next().unwrap();
    // A pack is described as the text that it is by default; as JSON it has the schema of its use case.
    if address.starts_with("/graphql") || (method, address) == ("get", "/api/v1/context") {
        return;
    }
    let errors = match API.path_of(method, address) {
        Some(path) => API.errors(method, path, status, answer),
        None => {
            assert!(status >= 400, "{method} {address} answered {status} and is not in the document");
            API.check(API.problem(), answer, "$")
        }
    };
    assert!(errors.is_empty(), "{method} {address} {status}: {errors:#?}\n{answer:#}");
}

impl OpenApi {
    /// That of this program.
    pub(crate) fn new() -> Self {
        Self(backstory_server::openapi())
    }

    /// The whole document.
    pub(crate) fn document(&self) -> &Value {
        &self.0
    }

    /// The path of the document that an address has, of several the one with the fewest parameters. A parameter at the end
    /// may have slashes.
    fn path_of(&self, method: &str, address: &str) -> Option<&str> {
        let is_of = |path: &str| {
            let (names, parts): (Vec<&str>, Vec<&str>) = (path.split('/').collect(), address.split('/').collect());
            let is_open = names.last().is_some_and(|name| name.starts_with('{'));
            (names.len() == parts.len() || is_open && parts.len() > names.len())
                && names.iter().zip(&parts).all(|(name, part)| name == part || name.starts_with('{'))
        };
        let paths = self.0["paths"].as_object().unwrap().iter();
        let paths = paths.filter(|(path, operations)| is_of(path) && operations.get(method).is_some());
        let parts = address.split('/').count();
        paths
            .map(|(path, _)| path.as_str())
            .min_by_key(|path| (path.split('/').count() != parts, path.matches('{').count()))
    }

    fn problem(&self) -> &Value {
        &self.0["components"]["responses"]["Problem"]["content"]["application/problem+json"]["schema"]
    }

    /// What is wrong with an answer; nothing if it is as described.
    pub(crate) fn errors(&self, method: &str, path: &str, status: u16, answer: &Value) -> Vec<String> {
        let operation = &self.0["paths"][path][method];
        assert!(operation.is_object(), "{method} {path} is not in the document");
        let described = &operation["responses"][status.to_string()]["content"]["application/json"]["schema"];
        if described.is_null() && operation["responses"][status.to_string()].is_object() {
            // Another form than JSON, some of which can be read as such.
            return Vec::new();
        }
        if described.is_null() {
            return self.check(self.problem(), answer, "$");
        }
        self.check(described, answer, "$")
    }

    fn check(&self, schema: &Value, value: &Value, place: &str) -> Vec<String> {
        if schema == &Value::Bool(true) {
            return Vec::new();
        }
        if let Some(reference) = schema["$ref"].as_str() {
            let pointer = reference.strip_prefix('#').unwrap();
            let found = self.0.pointer(pointer).unwrap_or_else(|| panic!("{reference} leads nowhere"));
            return self.check(found, value, place);
        }
        for choices in ["anyOf", "oneOf"] {
            if let Some(choices) = schema[choices].as_array() {
                let tried: Vec<Vec<String>> = choices.iter().map(|choice| self.check(choice, value, place)).collect();
                return if tried.iter().any(Vec::is_empty) { Vec::new() } else { tried.concat() };
            }
        }
        let mut errors = Vec::new();
        if !is_of_type(&schema["type"], value) {
            errors.push(format!("{place} is {value:.60}, not {}", schema["type"]));
        }
        if schema["const"] != Value::Null && &schema["const"] != value {
            errors.push(format!("{place} is {value}, not {}", schema["const"]));
        }
        if let Some(values) = schema["enum"].as_array()
            && !values.contains(value)
        {
            errors.push(format!("{place} is {value}, none of {}", schema["enum"]));
        }
        if let (Some(properties), Some(fields)) = (schema["properties"].as_object(), value.as_object()) {
            for required in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                if !fields.contains_key(required) {
                    errors.push(format!("{place}.{required} is missing"));
                }
            }
            for (name, field) in fields {
                match properties.get(name) {
                    Some(schema) => errors.extend(self.check(schema, field, &format!("{place}.{name}"))),
                    // What is flattened or has any fields is described otherwise.
                    None if schema["additionalProperties"].is_null() && schema["allOf"].is_null() => {
                        errors.push(format!("{place}.{name} is not described"));
                    }
                    None => {}
                }
            }
        }
        if let (items @ Value::Object(_), Some(values)) = (&schema["items"], value.as_array()) {
            for (number, value) in values.iter().enumerate() {
                errors.extend(self.check(items, value, &format!("{place}[{number}]")));
            }
        }
        errors
    }
}

fn is_of_type(types: &Value, value: &Value) -> bool {
    let is = |name: &str| match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    };
    match types {
        Value::String(name) => is(name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).any(is),
        _ => true,
    }
}

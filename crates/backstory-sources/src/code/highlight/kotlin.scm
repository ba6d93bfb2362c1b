; Kotlin, whose grammar comes without a query.

[(line_comment) (block_comment) (shebang)] @comment
[(string_literal) (multiline_string_literal) (character_literal)] @string
(interpolation) @embedded
[(number_literal) (float_literal)] @number
((identifier) @constant (#match? @constant "^[A-Z][A-Z0-9_]+$"))
((identifier) @constant.builtin (#match? @constant.builtin "^(true|false|null)$"))
(user_type (identifier) @type)
(class_declaration name: (identifier) @type)
(object_declaration name: (identifier) @type)
(type_alias type: (identifier) @type)
(type_parameter (identifier) @type)
(function_declaration name: (identifier) @function)
(call_expression . (identifier) @function)
(call_expression . (navigation_expression (identifier) @function .))
[
  "abstract" "actual" "annotation" "as" "as?" "by" "catch" "class" "companion" "const" "constructor" "crossinline" "data"
  "do" "else" "enum" "expect" "external" "final" "finally" "for" "fun" "get" "if" "import" "in" "!in" "infix" "init"
  "inline" "inner" "interface" "internal" "is" "!is" "lateinit" "noinline" "object" "open" "operator" "out" "override"
  "package" "private" "protected" "public" "return" "return@" "sealed" "set" "super" "super@" "suspend" "tailrec" "this"
  "this@" "throw" "try" "typealias" "val" "var" "vararg" "when" "where" "while" (reification_modifier)
] @keyword

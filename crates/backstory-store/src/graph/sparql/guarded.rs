//! Queries as they are evaluated: with functions in them that keep to the limits where nothing else would.
//!
//! Rows without terms, conditions without variables, sorted rows and joined texts never touch the dataset, so the query
//! itself calls the [`Meter`] there. None of these calls changes what the query means.

use std::sync::Arc;

use backstory_model::id::NAMESPACE;
use oxigraph::{
    model::{Literal, NamedNode, Term},
    sparql::Variable,
};
use spareval::QueryEvaluator;
use spargebra::{
    Query,
    algebra::{
        AggregateExpression, AggregateFunction, Expression, Function, GraphPattern, OrderExpression,
        PropertyPathExpression,
    },
};

use super::meter::Meter;

/// What a sorted row takes besides its terms.
const SORTED_ROW: usize = 256;
/// Most arguments of a function.
const MAX_ARGUMENTS: usize = 64;
/// Most triple patterns, steps of paths and operators on them. 190 patterns were planned for a minute, and
/// nothing cancels a planner.
const MAX_PARTS: usize = 64;
/// Most operands of `&&` and `||` and most filters. The time in which they are planned grows with their square: 1,000 took
/// 27 s on a busy machine.
const MAX_CONDITIONS: usize = 256;

/// False: a row goes by.
const ROW: &str = "row";
/// Never a value: a row goes by that a sort keeps.
const SORTED: &str = "sortedRow";
/// Its first argument: it is kept until the query ends.
const KEPT: &str = "kept";
/// Its first argument, unless it is too long.
const BOUNDED: &str = "bounded";
/// Its first argument, unless the second in its place would be too long.
const REPLACEABLE: &str = "replaceable";

/// Adds the functions that guarded queries call.
pub(super) fn with_functions(evaluator: QueryEvaluator, meter: &Arc<Meter>) -> QueryEvaluator {
    let (row, sorted, kept) = (meter.clone(), meter.clone(), meter.clone());
    let (bounded, replaceable) = (meter.clone(), meter.clone());
    evaluator
        .with_custom_function(function(ROW), move |_| {
            row.tick();
            Some(Literal::from(false).into())
        })
        .with_custom_function(function(SORTED), move |_| {
            sorted.hold(SORTED_ROW);
            None
        })
        .with_custom_function(function(KEPT), move |arguments| {
            let term = arguments.first()?;
            kept.hold(SORTED_ROW + length(term));
            Some(term.clone())
        })
        .with_custom_function(function(BOUNDED), move |arguments| {
            let term = arguments.first()?;
            bounded.check_text(length(term));
            Some(term.clone())
        })
        .with_custom_function(function(REPLACEABLE), move |arguments| {
            let [text, replacement] = arguments else { return None };
            replaceable.check_replacement(length(text), length(replacement));
            Some(text.clone())
        })
}

fn function(name: &str) -> NamedNode {
    NamedNode::new_unchecked(format!("{NAMESPACE}{name}"))
}

fn length(term: &Term) -> usize {
    match term {
        Term::Literal(literal) => literal.value().len(),
        Term::NamedNode(node) => node.as_str().len(),
        Term::BlankNode(_) => 0,
    }
}

fn call(name: &str, arguments: Vec<Expression>) -> Expression {
    Expression::FunctionCall(Function::Custom(function(name)), arguments)
}

/// Guards a query.
///
/// # Errors
/// What it asks for is never answered; why, in a sentence.
pub(super) fn guard_query(query: &mut Query) -> Result<(), &'static str> {
    let (Query::Select { pattern, .. }
    | Query::Construct { pattern, .. }
    | Query::Describe { pattern, .. }
    | Query::Ask { pattern, .. }) = query;
    Guard { counters: 0, parts: 0, conditions: 0 }.guard_pattern(pattern)
}

struct Guard {
    /// How many variables of its own the query has.
    counters: usize,
    /// How many patterns, steps and operators were seen.
    parts: usize,
    /// How many operands of `&&` and `||` and how many filters were seen.
    conditions: usize,
}

impl Guard {
    fn count_parts(&mut self, parts: usize) -> Result<(), &'static str> {
        self.parts += parts;
        if self.parts <= MAX_PARTS {
            Ok(())
        } else {
            Err("the query has more than 64 patterns, steps of paths and operators")
        }
    }

    fn count_condition(&mut self) -> Result<(), &'static str> {
        self.conditions += 1;
        if self.conditions <= MAX_CONDITIONS {
            Ok(())
        } else {
            Err("the query has more than 256 filters and conditions joined by && or ||; VALUES or IN take longer lists")
        }
    }

    fn guard_pattern(&mut self, pattern: &mut GraphPattern) -> Result<(), &'static str> {
        self.count_parts(match pattern {
            GraphPattern::Bgp { patterns } => patterns.len(),
            GraphPattern::Path { path, .. } => steps(path),
            _ => 1,
        })?;
        match pattern {
            GraphPattern::Bgp { .. } | GraphPattern::Path { .. } | GraphPattern::Values { .. } => Ok(()),
            GraphPattern::Join { left, right }
            | GraphPattern::Lateral { left, right }
            | GraphPattern::Union { left, right }
            | GraphPattern::Minus { left, right } => {
                self.guard_pattern(left)?;
                self.guard_pattern(right)
            }
            GraphPattern::LeftJoin { left, right, expression } => {
                self.guard_pattern(left)?;
                self.guard_pattern(right)?;
                expression.as_mut().map_or(Ok(()), |condition| self.guard_condition(condition))
            }
            GraphPattern::Filter { expr, inner } => {
                self.guard_pattern(inner)?;
                self.guard_condition(expr)
            }
            GraphPattern::Graph { inner, .. }
            | GraphPattern::Distinct { inner }
            | GraphPattern::Reduced { inner }
            | GraphPattern::Slice { inner, .. } => self.guard_pattern(inner),
            GraphPattern::Extend { inner, expression, .. } => {
                self.guard_pattern(inner)?;
                self.guard_expression(expression)
            }
            GraphPattern::OrderBy { inner, expression } => {
                self.guard_pattern(inner)?;
                for order in expression {
                    let (OrderExpression::Asc(key) | OrderExpression::Desc(key)) = order;
                    self.guard_expression(key)?;
                }
                self.count_rows(inner, SORTED);
                Ok(())
            }
            GraphPattern::Project { inner, .. } => {
                self.guard_pattern(inner)?;
                self.count_rows(inner, ROW);
                Ok(())
            }
            GraphPattern::Group { inner, aggregates, .. } => {
                self.guard_pattern(inner)?;
                self.count_rows(inner, ROW);
                aggregates.iter_mut().try_for_each(|(_, aggregate)| self.guard_aggregate(aggregate))
            }
            GraphPattern::Service { .. } => Err("SERVICE is refused: this endpoint sends no requests to other servers"),
        }
    }

    /// Calls a function for each row of a pattern.
    fn count_rows(&mut self, pattern: &mut GraphPattern, name: &str) {
        self.counters += 1;
        // No query can name a variable like this one.
        let variable = Variable::new_unchecked(format!("row {}", self.counters));
        let inner = Box::new(std::mem::take(pattern));
        *pattern = GraphPattern::Extend { inner, variable, expression: call(name, Vec::new()) };
    }

    /// Guards each part of a condition, so that these can still be checked where their variables are bound.
    fn guard_condition(&mut self, condition: &mut Expression) -> Result<(), &'static str> {
        if let Expression::And(left, right) = condition {
            self.count_condition()?;
            self.guard_condition(left)?;
            return self.guard_condition(right);
        }
        self.guard_expression(condition)?;
        let own = std::mem::replace(condition, Expression::Literal(Literal::from(false)));
        *condition = Expression::Or(Box::new(call(ROW, Vec::new())), Box::new(own));
        Ok(())
    }

    fn guard_aggregate(&mut self, aggregate: &mut AggregateExpression) -> Result<(), &'static str> {
        let AggregateExpression::FunctionCall { name, expr, distinct } = aggregate else { return Ok(()) };
        self.guard_expression(expr)?;
        if *distinct || matches!(name, AggregateFunction::GroupConcat { .. }) {
            wrap(expr, KEPT);
        }
        Ok(())
    }

    fn guard_expression(&mut self, expression: &mut Expression) -> Result<(), &'static str> {
        match expression {
            Expression::NamedNode(_) | Expression::Literal(_) | Expression::Variable(_) | Expression::Bound(_) => {
                Ok(())
            }
            Expression::Or(a, b) | Expression::And(a, b) => {
                self.count_condition()?;
                self.guard_expression(a)?;
                self.guard_expression(b)
            }
            Expression::Equal(a, b)
            | Expression::SameTerm(a, b)
            | Expression::Greater(a, b)
            | Expression::GreaterOrEqual(a, b)
            | Expression::Less(a, b)
            | Expression::LessOrEqual(a, b)
            | Expression::Add(a, b)
            | Expression::Subtract(a, b)
            | Expression::Multiply(a, b)
            | Expression::Divide(a, b) => {
                self.guard_expression(a)?;
                self.guard_expression(b)
            }
            Expression::UnaryPlus(a) | Expression::UnaryMinus(a) | Expression::Not(a) => self.guard_expression(a),
            Expression::In(a, list) => {
                self.guard_expression(a)?;
                list.iter_mut().try_for_each(|item| self.guard_expression(item))
            }
            Expression::Exists(pattern) => self.guard_pattern(pattern),
            Expression::If(a, b, c) => {
                self.guard_expression(a)?;
                self.guard_expression(b)?;
                self.guard_expression(c)
            }
            Expression::Coalesce(list) => list.iter_mut().try_for_each(|item| self.guard_expression(item)),
            Expression::FunctionCall(function, arguments) => {
                if arguments.len() > MAX_ARGUMENTS {
                    return Err("a function has more than 64 arguments");
                }
                arguments.iter_mut().try_for_each(|argument| self.guard_expression(argument))?;
                let grows = matches!(function, Function::Concat | Function::Replace | Function::EncodeForUri);
                if let (Function::Replace, [text, _, replacement, ..]) = (&*function, &mut arguments[..]) {
                    let own = std::mem::replace(text, Expression::Literal(Literal::from(false)));
                    *text = call(REPLACEABLE, vec![own, replacement.clone()]);
                }
                if grows {
                    wrap(expression, BOUNDED);
                }
                Ok(())
            }
        }
    }
}

/// How many predicates and operators a path has.
fn steps(path: &PropertyPathExpression) -> usize {
    match path {
        PropertyPathExpression::NamedNode(_) => 1,
        PropertyPathExpression::NegatedPropertySet(predicates) => predicates.len(),
        PropertyPathExpression::Reverse(inner)
        | PropertyPathExpression::ZeroOrMore(inner)
        | PropertyPathExpression::OneOrMore(inner)
        | PropertyPathExpression::ZeroOrOne(inner) => 1 + steps(inner),
        PropertyPathExpression::Sequence(left, right) | PropertyPathExpression::Alternative(left, right) => {
            steps(left) + steps(right)
        }
    }
}

fn wrap(expression: &mut Expression, name: &str) {
    let own = std::mem::replace(expression, Expression::Literal(Literal::from(false)));
    *expression = call(name, vec![own]);
}

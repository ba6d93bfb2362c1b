//! Tests of languages that run from their source.

use super::*;

#[test]
fn python() {
    check(
        "tests/test_store.py",
        r#"'''Stores of things.'''
import os.path as p, sys
from . import types
from ..core import open_it as o, close

LIMIT = 3
limit: int = 4
LIMIT = 5

class TestStore(Base, Generic[T], metaclass=Meta):
    """A store.

    On disk.
    """
    size = 1

    @property
    @cached(key=make())
    def count(self) -> int:
        # Deliberately not cached: it changes behind our back.
        return len(self.items)

    async def test_open(self):
        x = 1
        self.count()
        def inner():
            return o(x).run()

@overload
def f(a: int): ...
@overload
def f(a: str): ...
def f(a):
    def inner(): pass
    return inner

if sys.platform == "win32":
    def g(): pass
"#,
        expect![[r#"
            doc: Stores of things.
            6-6 Constant LIMIT | LIMIT = 3
            7-7 Variable limit | limit: int = 4
            10-27 Class TestStore Container | class TestStore(Base, Generic[T], metaclass=Meta) | A store.//On disk.
            15-15 Variable TestStore.size in TestStore | size = 1
            19-21 Method TestStore.count in TestStore | def count(self) -> int
            23-27 Method TestStore.test_open in TestStore Test | async def test_open(self)
            26-27 Function TestStore.test_open.inner in TestStore.test_open | def inner()
            30-30 Function f~2 | def f(a: int)
            32-32 Function f~3 | def f(a: str)
            33-35 Function f | def f(a)
            34-34 Function f.inner in f | def inner()
            38-38 Function g | def g()
            21: TestStore.count calls len
            25: TestStore.test_open calls self count
            27: TestStore.test_open.inner calls … run
            27: TestStore.test_open.inner calls o
            2: imports os.path p=*
            2: imports sys sys=*
            3: imports . types=types
            4: imports ..core o=open_it,close=close
            10: TestStore Extends Base
            10: TestStore Extends Generic
            20-20 Reason TestStore.count: Deliberately not cached: it changes behind our back.
        "#]],
    );
}

#[test]
fn overloads_inside_of_an_overload_are_named_after_it() {
    check(
        "src/store.py",
        r#"@overload
def f(a: int): ...
def f(a):
    @overload
    def g(b: int): ...
    def g(b):
        def h(): pass
    return g
"#,
        expect![[r#"
            2-2 Function f~2 | def f(a: int)
            3-8 Function f | def f(a)
            5-5 Function f.g~2 in f | def g(b: int)
            6-7 Function f.g in f | def g(b)
            7-7 Function f.g.h in f.g | def h()
        "#]],
    );
}

#[test]
fn typescript() {
    check(
        "src/store.test.ts",
        r#"import def, { a, b as c } from "./lib.js";
import * as all from "../all";
import type { T } from "./types";
export * from "./more";
const fs = require("fs");

/** A store. */
@Injectable()
export class Store<T> extends Base<T> implements Open, Close {
  private size = 3;
  name: string;
  constructor(private n: number) { super(); }
  open(): boolean { return this.check(all.run()); }
  close = () => { c(); };
}
export interface Open extends Shut { open(): boolean }
export type Name = string | number;
export enum Color { Red }
export namespace Inner { export function deep() {} }
export const LIMIT = 3;
// Kept apart, so that tests can replace it.
export const make = async (n: number) => { const local = 1; return new Store(n); };
function overloaded(a: string): void;
function overloaded(a: any) {}
export default function () { return 1; }
describe("store", () => {
  it("opens", async () => { expect(make(1)).toBe(2); });
});
"#,
        expect![[r#"
            9-15 Class Store | export class Store<T> extends Base<T> implements Open, Close | A store.
            10-10 Variable Store.size in Store | private size = 3
            12-12 Method Store.constructor in Store | constructor(private n: number)
            13-13 Method Store.open in Store | open(): boolean
            14-14 Method Store.close in Store | close = ()
            16-16 Interface Open | export interface Open extends Shut
            16-16 Method Open.open in Open | open(): boolean
            17-17 TypeAlias Name | export type Name = string | number
            18-18 Enum Color | export enum Color
            19-19 Namespace Inner | export namespace Inner
            19-19 Function Inner.deep in Inner | export function deep()
            20-20 Constant LIMIT | export const LIMIT = 3
            22-22 Function make | export const make = async (n: number) | Kept apart, so that tests can replace it.
            23-23 Function overloaded~2 | function overloaded(a: string): void
            24-24 Function overloaded | function overloaded(a: any)
            26-28 TestSuite store Container | describe("store",
            27-27 TestCase store.opens in store Test | it("opens",
            12: Store.constructor calls super
            13: Store.open calls this check
            13: Store.open calls all run
            14: Store.close calls c
            22: make calls Store
            27: store.opens calls … toBe
            27: store.opens calls expect
            27: store.opens calls make
            1: imports ./lib.js a=a,c=b,def=default
            2: imports ../all all=*
            3: imports ./types T=T
            4: imports ./more *=*
            5: imports fs fs=*
            9: Store Extends Base
            9: Store Implements Open
            9: Store Implements Close
            16: Open Extends Shut
        "#]],
    );
}

#[test]
fn javascript() {
    check(
        "lib/store.jsx",
        r#"const { join, sep: s } = require('path');
var legacy = function () { return join('a'); };
exports.open = function open(a) { return a; };
Store.prototype.close = function () { this.open(); };
class View extends React.Component { render() { return <Box onClick={() => go()} />; } }
const api = { get() { return fetch('x'); } };
function* steps() {}
"#,
        expect![[r#"
            2-2 Function legacy | var legacy = function ()
            3-3 Function open | exports.open = function open(a)
            4-4 Method Store.close | Store.prototype.close = function ()
            5-5 Class View | class View extends React.Component
            5-5 Method View.render in View | render()
            6-6 Constant api | const api = { get() { return fetch('x'); } }
            6-6 Method api.get in api | get()
            7-7 Function steps | function* steps()
            2: legacy calls join
            4: Store.close calls this open
            5: View.render calls go
            6: api.get calls fetch
            1: imports path join=join,s=sep
        "#]],
    );
}

#[test]
fn ruby() {
    check(
        "spec/store_spec.rb",
        r#"require 'set'
require_relative '../lib/store'

module Acme
  # A store.
  class Store < Base
    include Enumerable
    LIMIT = 3

    def self.make(n)
      new(n)
    end

    def open?
      check(@n) && helper.run
    end
  end
end

RSpec.describe Acme::Store do
  it 'opens' do
    expect(Acme::Store.make(1)).to be_open
  end
end
"#,
        expect![[r#"
            4-18 Module Acme Container | module Acme
            6-17 Class Acme::Store in Acme | class Store < Base | A store.
            8-8 Constant Acme::Store::LIMIT in Acme::Store | LIMIT = 3
            10-12 Method Acme::Store::make in Acme::Store | def self.make(n)
            14-16 Method Acme::Store::open? in Acme::Store | def open?
            20-24 TestSuite Acme::Store~2 in Acme Container | RSpec.describe Acme::Store
            21-23 TestCase Acme::Store~2::opens in Acme::Store~2 Test | it 'opens'
            11: Acme::Store::make calls new
            15: Acme::Store::open? calls check
            15: Acme::Store::open? calls helper run
            22: Acme::Store~2::opens calls … to
            22: Acme::Store~2::opens calls expect
            22: Acme::Store~2::opens calls Acme::Store make
            1: imports set 
            2: imports ./../lib/store 
            6: Store Extends Base
            7: Store Extends Enumerable
        "#]],
    );
}

#[test]
fn php() {
    check(
        "src/Store.php",
        r#"<?php
namespace Acme\Shop;

use Acme\Id\NodeId as Node;
use Acme\{Walk, Go};
require_once __DIR__ . '/boot.php';

const LIMIT = 3;

/** A store. */
#[Attr]
final class Store extends Base implements Open
{
    use Logs;
    const MAX = 4;
    private int $n = 1;
    public function open(int $a): bool { return $this->check(helper($a)) && Node::make(new Thing()); }
}
interface Open { public function open(int $a): bool; }
function helper($a) { return $a; }
"#,
        expect![[r#"
            8-8 Constant LIMIT | const LIMIT = 3
            12-18 Class Store | final class Store extends Base implements Open | A store.
            15-15 Constant Store::MAX in Store | const MAX = 4
            16-16 Variable Store::n in Store | private int $n = 1
            17-17 Method Store::open in Store | public function open(int $a): bool
            19-19 Interface Open | interface Open
            19-19 Method Open::open in Open | public function open(int $a): bool
            20-20 Function helper | function helper($a)
            17: Store::open calls $this check
            17: Store::open calls helper
            17: Store::open calls Node make
            17: Store::open calls Thing
            4: imports Acme\Id\NodeId Node=NodeId
            5: imports Acme\Walk Walk=Walk
            5: imports Acme\Go Go=Go
            6: imports ./boot.php 
            12: Store Extends Base
            12: Store Implements Open
            14: Store Extends Logs
        "#]],
    );
}

#[test]
fn bash() {
    check(
        "bin/run.sh",
        r#"#!/bin/bash
. "$(dirname "$0")/lib.sh"
LIMIT=3
LIMIT=4
# Runs it.
run() {
  local x=1
  # We cannot use set -e here: grep fails when nothing is found.
  apt-get update && helper "$x"
}
function other { run; }
run "$@"
"#,
        expect![[r#"
            3-3 Variable LIMIT | LIMIT=3
            6-10 Function run | run() | Runs it.
            11-11 Function other | function other
            9: run calls apt-get
            9: run calls helper
            11: other calls run
            12: - calls run
            2: imports $(dirname "$0")/lib.sh 
            8-8 Reason run: We cannot use set -e here: grep fails when nothing is found.
        "#]],
    );
}

//! Tests of languages that are compiled.

use super::*;

#[test]
fn rust() {
    check(
        "src/store.rs",
        r##"//! Stores of things.

use crate::{id::{self, NodeId}, walk::*};
mod disk;

/// A store.
/// On disk.
#[derive(Clone)]
pub struct Store<T> {
    items: Vec<T>,
}

const LIMIT: usize = 3;

pub trait Open: Clone + Send {
    fn open(&self) -> bool;
}

impl<T: Copy> Open for Store<T> {
    // Not locked, because the caller holds the lock already.
    fn open(&self) -> bool {
        self.check();
        let n = id::make("(");
        assert!(walk::go(n) && std::mem::take(&mut x).is_empty());
        true
    }
}

#[cfg(unix)]
fn path() -> &'static str { "/" }
#[cfg(windows)]
fn path() -> &'static str { "\\" }

macro_rules! twice { ($x:expr) => { $x; $x } }

#[cfg(test)]
mod tests {
    #[tokio::test]
    async fn opens() {
        fn helper() {}
        super::path();
    }
}
"##,
        expect![[r#"
            doc: Stores of things.
            9-11 Struct Store | pub struct Store<T> | A store./On disk.
            13-13 Constant LIMIT | const LIMIT: usize = 3
            15-17 Trait Open | pub trait Open: Clone + Send
            16-16 Method Open::open in Open | fn open(&self) -> bool
            21-26 Method Store::open in Store | fn open(&self) -> bool | Not locked, because the caller holds the lock already.
            30-30 Function path | fn path() -> &'static str
            32-32 Function path~2 | fn path() -> &'static str
            34-34 Macro twice | macro_rules! twice { ($x:expr) => { $x; $x } }
            37-43 Module tests Container | mod tests
            39-42 Function tests::opens in tests Test | async fn opens()
            40-40 Function tests::opens::helper in tests::opens | fn helper()
            22: Store::open calls self check
            23: Store::open calls id make
            24: Store::open calls assert
            24: Store::open calls walk go
            24: Store::open calls std::mem take
            24: Store::open calls is_empty
            41: tests::opens calls super path
            3: imports crate::id id=*,NodeId=NodeId
            3: imports crate::walk *=*
            4: imports self::disk disk=*
            15: Open Extends Clone
            15: Open Extends Send
            19: Store Implements Open
            20-20 Reason Store::open: Not locked, because the caller holds the lock already.
        "#]],
    );
}

#[test]
fn c() {
    check(
        "src/field.c",
        r#"#include "field.h"
#include <stdint.h>
#ifndef X_H
#define X_H
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define LIMIT 12

typedef struct { int n; } field;
typedef struct node { struct node *next; } node;
struct tree { int depth; };
typedef unsigned char byte;
enum color { RED, GREEN };
static const unsigned char table[2] = {1, 2};
int counter;

int field_add(field *r, const field *a);

/* Adds.
 *
 * Note that r may alias a. */
static int *
field_add_impl(field *r, const field *a) {
    int local = 1;
    /* Do not use memcmp here. */
    if (MAX(r->n, a->n)) helper(local, counter);
    return r->ops->run(a);
}
#endif
"#,
        expect![[r#"
            5-5 Macro MAX | #define MAX(a, b) ((a) > (b) ? (a) : (b))
            6-6 Constant LIMIT | #define LIMIT 12
            8-8 Struct field | typedef struct { … } field
            9-9 Struct node | typedef struct node { … } node
            10-10 Struct tree | struct tree
            11-11 TypeAlias byte | typedef unsigned char byte
            12-12 Enum color | enum color
            13-13 Constant table | static const unsigned char table[2] = {1, 2}
            14-14 Variable counter | int counter
            16-16 Declaration field_add | int field_add(field *r, const field *a)
            21-27 Function field_add_impl name:22 | static int * field_add_impl(field *r, const field *a) | Adds.//Note that r may alias a.
            25: field_add_impl calls MAX
            25: field_add_impl calls helper
            26: field_add_impl calls r->ops run
            1: imports field.h 
            2: imports <stdint.h> 
            18-20 Note field_add_impl: Adds.//Note that r may alias a.
            24-24 Rule field_add_impl: Do not use memcmp here.
        "#]],
    );
}

#[test]
fn cpp() {
    check(
        "src/store.cpp",
        r#"#include "store.h"
namespace acme { namespace shop {
template <typename T>
class Store : public Base<T>, private Other {
public:
    Store() : n_(0) {}
    virtual ~Store() {}
    bool open(int a) const { return check(a); }
    void close();
    bool operator==(const Store& o) const { return true; }
private:
    int n_;
};
using Alias = Store<int>;
}}
void acme::shop::Store<int>::close() { auto x = new Thing(1); x->run(); }
TEST(StoreTest, Opens) { EXPECT_EQ(1, open()); }
"#,
        expect![[r#"
            2-15 Namespace acme | namespace acme
            2-15 Namespace acme::shop in acme | namespace shop
            3-13 Class acme::shop::Store name:4 in acme::shop | template <typename T> class Store : public Base<T>, private Other
            6-6 Method acme::shop::Store::Store in acme::shop::Store | Store() : n_(0)
            7-7 Method acme::shop::Store::~Store in acme::shop::Store | virtual ~Store()
            8-8 Method acme::shop::Store::open in acme::shop::Store | bool open(int a) const
            9-9 Declaration acme::shop::Store::close in acme::shop::Store | void close()
            10-10 Method acme::shop::Store::operator== in acme::shop::Store | bool operator==(const Store& o) const
            14-14 TypeAlias acme::shop::Alias in acme::shop | using Alias = Store<int>
            16-16 Method acme::shop::Store::close~2 in acme::shop::Store | void acme::shop::Store<int>::close()
            17-17 TestCase StoreTest.Opens Test | TEST(StoreTest, Opens)
            8: acme::shop::Store::open calls check
            16: acme::shop::Store::close~2 calls Thing
            16: acme::shop::Store::close~2 calls x run
            17: StoreTest.Opens calls EXPECT_EQ
            17: StoreTest.Opens calls open
            1: imports store.h 
            4: Store Extends Base
            4: Store Extends Other
        "#]],
    );
}

#[test]
fn go() {
    check(
        "store/store_test.go",
        r#"package store

import (
	"fmt"
	alias "github.com/acme/shop/id"
)

const Limit = 3

var a, b = 1, 2

// Store keeps.
type Store struct {
	Base
	*other.Thing
	n int
}

type Opener interface {
	Reader
	Open() error
}

type Name = string

// Open opens.
func (s *Store) Open() error {
	return fmt.Errorf("x %v", alias.Make(s.n))
}

func TestOpen(t *testing.T) {
	t.Run("x", func(t *testing.T) { Open() })
}
"#,
        expect![[r#"
            8-8 Constant Limit | const Limit = 3
            10-10 Variable a | var a, b = 1, 2
            10-10 Variable b | var a, b = 1, 2
            13-17 Struct Store | type Store struct | Store keeps.
            19-22 Interface Opener | type Opener
            21-21 Method Opener.Open in Opener | Open() error
            24-24 TypeAlias Name | type Name = string
            27-29 Method Store.Open in Store | func (s *Store) Open() error | Open opens.
            31-33 Function TestOpen Test | func TestOpen(t *testing.T)
            28: Store.Open calls fmt Errorf
            28: Store.Open calls alias Make
            32: TestOpen calls t Run
            32: TestOpen calls Open
            4: imports fmt fmt=*
            5: imports github.com/acme/shop/id alias=*
            14: Store Extends Base
            15: Store Extends other.Thing
            20: Opener Extends Reader
        "#]],
    );
}

#[test]
fn java() {
    check(
        "src/test/java/com/acme/StoreTest.java",
        r#"package com.acme;

import com.acme.id.NodeId;
import static org.junit.Assert.*;

/** A store. */
@Deprecated
public class StoreTest<T> extends Base<T> implements Open, Close<T> {
    private static final int LIMIT = 3;
    int n = 1, m;

    public StoreTest(int n) { this.n = n; }

    /** Opens. */
    @Test
    @Timeout(3)
    public void opens() throws Exception {
        Thing thing = new Thing(helper());
        thing.run().stop();
    }
    interface Inner { void go(); }
    enum Color { RED; int x() { return 1; } }
}
"#,
        expect![[r#"
            8-23 Class StoreTest Container | public class StoreTest<T> extends Base<T> implements Open, Close<T> | A store.
            9-9 Constant StoreTest.LIMIT in StoreTest | private static final int LIMIT = 3
            10-10 Variable StoreTest.n in StoreTest | int n = 1, m
            10-10 Variable StoreTest.m in StoreTest | int n = 1, m
            12-12 Method StoreTest.StoreTest in StoreTest | public StoreTest(int n)
            17-20 Method StoreTest.opens in StoreTest Test | public void opens() throws Exception | Opens.
            21-21 Interface StoreTest.Inner in StoreTest | interface Inner
            21-21 Method StoreTest.Inner.go in StoreTest.Inner | void go()
            22-22 Enum StoreTest.Color in StoreTest | enum Color
            22-22 Method StoreTest.Color.x in StoreTest.Color | int x()
            18: StoreTest.opens calls Thing
            18: StoreTest.opens calls helper
            19: StoreTest.opens calls … stop
            19: StoreTest.opens calls thing run
            3: imports com.acme.id.NodeId NodeId=NodeId
            4: imports org.junit.Assert.* *=*
            8: StoreTest Extends Base
            8: StoreTest Implements Open
            8: StoreTest Implements Close
        "#]],
    );
}

#[test]
fn csharp() {
    check(
        "Store.cs",
        r#"using System.Text;
using Alias = Acme.Id;
namespace Acme.Shop
{
    /// <summary>A store.</summary>
    [Serializable]
    public class Store : Base, IOpen
    {
        private const int Limit = 3;
        public int Count { get; set; }
        public Store(int n) { }
        [Fact]
        public bool Open(int a) => this.Check(a) && Alias.Make(a);
    }
    interface IOpen { bool Open(int a); }
    enum Color { Red }
    struct Point { }
}
"#,
        expect![[r#"
            3-18 Namespace Acme.Shop Container | namespace Acme.Shop
            7-14 Class Acme.Shop.Store in Acme.Shop Container | public class Store : Base, IOpen | <summary>A store.</summary>
            9-9 Constant Acme.Shop.Store.Limit in Acme.Shop.Store | private const int Limit = 3
            10-10 Variable Acme.Shop.Store.Count in Acme.Shop.Store | public int Count
            11-11 Method Acme.Shop.Store.Store in Acme.Shop.Store | public Store(int n)
            13-13 Method Acme.Shop.Store.Open in Acme.Shop.Store Test | public bool Open(int a)
            15-15 Interface Acme.Shop.IOpen in Acme.Shop | interface IOpen
            15-15 Method Acme.Shop.IOpen.Open in Acme.Shop.IOpen | bool Open(int a)
            16-16 Enum Acme.Shop.Color in Acme.Shop | enum Color
            17-17 Struct Acme.Shop.Point in Acme.Shop | struct Point
            13: Acme.Shop.Store.Open calls this Check
            13: Acme.Shop.Store.Open calls Alias Make
            1: imports System.Text Text=Text
            2: imports Acme.Id Alias=Id
            7: Store Extends Base
            7: Store Implements IOpen
        "#]],
    );
}

#[test]
fn kotlin() {
    check(
        "src/Store.kt",
        r#"package acme

import acme.id.NodeId
import acme.walk as w

const val LIMIT = 3
typealias Name = String

/** A store. */
@Deprecated("x")
class Store<T>(val n: Int) : Base<T>(n), Open {
    val items = listOf<T>()
    override fun open(): Boolean {
        val local = 1
        return check(local) && w.go()
    }
    companion object {
        fun make() = Store(1)
    }
}

interface Open {
    fun open(): Boolean
}
enum class Color { RED }
object Single { }
fun String.shout() = uppercase()
class StoreTest {
    @Test
    fun opens() { Store.make().open() }
}
"#,
        expect![[r#"
            6-6 Constant LIMIT | const val LIMIT = 3
            7-7 TypeAlias Name | typealias Name = String
            11-20 Class Store | class Store<T>(val n: Int) : Base<T>(n), Open | A store.
            12-12 Constant Store.items in Store | val items = listOf<T>()
            13-16 Method Store.open in Store | override fun open(): Boolean
            17-19 Class Store.Companion in Store | companion object
            18-18 Method Store.Companion.make in Store.Companion | fun make()
            22-24 Interface Open | interface Open
            23-23 Method Open.open in Open | fun open(): Boolean
            25-25 Enum Color | enum class Color
            26-26 Class Single | object Single
            27-27 Function shout | fun String.shout()
            28-31 Class StoreTest Container | class StoreTest
            30-30 Method StoreTest.opens in StoreTest Test | fun opens()
            12: Store.items calls listOf
            15: Store.open calls check
            15: Store.open calls w go
            18: Store.Companion.make calls Store
            27: shout calls uppercase
            30: StoreTest.opens calls … open
            30: StoreTest.opens calls Store make
            3: imports acme.id.NodeId NodeId=NodeId
            4: imports acme.walk w=walk
            11: Store Extends Base
            11: Store Extends Open
        "#]],
    );
}

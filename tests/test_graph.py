"Properties of the constraint graph, against enumeration and networkx."

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from csc_nb.graph import (
    UnionFind,
    blocks,
    bridges,
    closure,
    closure_pairs,
    colour_classes,
    component_cannot,
    connected,
    contradictions,
    csr_adjacency,
    edge_ends,
    explain_chain,
    greedy_colouring,
    implied,
    iter_closure,
    ml_components,
    shortest_chain,
)

quick = settings(max_examples=150, deadline=None)


def partitions(n):
    def grow(z):
        if len(z) == n:
            yield z
        else:
            for k in range(max(z, default=-1) + 2):
                yield from grow(z + (k,))

    return np.array(list(grow(())))


PARTS = {n: partitions(n) for n in range(1, 8)}


@st.composite
def signed(draw, max_n=7, max_m=12):
    """n, must-links, cannot-links; repeated pairs, loops among the must-links and both
    answers to one pair may occur."""
    n = draw(st.integers(1, max_n))
    pair = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1))
    return n, draw(st.lists(pair, max_size=max_m)), draw(st.lists(pair, max_size=max_m))


@st.composite
def graph(draw, max_n=12, max_m=25):
    n = draw(st.integers(1, max_n))
    pair = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1))
    return n, draw(st.lists(pair, max_size=max_m))


def test_bell_numbers():
    assert [len(PARTS[n]) for n in range(1, 8)] == [1, 2, 5, 15, 52, 203, 877]


@given(signed())
@settings(max_examples=400, deadline=None)
def test_contradiction_iff_no_partition(g):
    n, must, cannot = g
    Z = PARTS[n]
    ok = np.ones(len(Z), bool)
    for i, j in must:
        ok &= Z[:, i] == Z[:, j]
    for i, j in cannot:
        ok &= Z[:, i] != Z[:, j]
    found = contradictions(n, must, cannot, n_chains=99)
    assert (found.count > 0) == (not ok.any())
    assert found.count == len(found.index) == len(found.chains)
    # each reported cannot-link alone is refuted by the must-links, each other one is not
    fits = np.ones(len(Z), bool)
    for i, j in must:
        fits &= Z[:, i] == Z[:, j]
    alone = [
        k for k, (i, j) in enumerate(cannot) if not (fits & (Z[:, i] != Z[:, j])).any()
    ]
    assert found.index.tolist() == alone


@given(signed())
@quick
def test_chain_is_a_shortest_path(g):
    n, must, cannot = g
    G = nx.Graph()
    G.add_nodes_from(range(n))
    G.add_edges_from(must)
    found = contradictions(n, must, cannot, n_chains=99)
    for k, chain in zip(found.index, found.chains):
        i, j = cannot[k]
        assert (chain[0], chain[-1]) == (i, j) and len(chain) == nx.shortest_path_length(
            G, i, j
        ) + 1
        assert all(G.has_edge(u, v) for u, v in zip(chain, chain[1:]))
        assert chain == shortest_chain(n, must, i, j)
    for i, j in combinations(range(n), 2):
        assert bool(shortest_chain(n, must, i, j)) == nx.has_path(G, i, j)


@pytest.mark.parametrize("seed", range(10))
def test_chains_on_larger_graphs(seed):
    "Graphs with long cycles, where a search in the wrong order finds a detour."
    n = 30
    must = np.random.default_rng(seed).integers(0, n, (40, 2))
    G = nx.Graph()
    G.add_nodes_from(range(n))
    G.add_edges_from(must.tolist())
    dist = dict(nx.all_pairs_shortest_path_length(G))
    pairs = list(combinations(range(n), 2))
    found = contradictions(n, must, pairs, n_chains=len(pairs))
    assert found.index.tolist() == [k for k, (i, j) in enumerate(pairs) if j in dist[i]]
    for k, chain in zip(found.index, found.chains):
        i, j = pairs[k]
        assert (chain[0], chain[-1], len(chain)) == (i, j, dist[i][j] + 1)
        assert all(G.has_edge(u, v) for u, v in zip(chain, chain[1:]))


def test_n_chains_and_words():
    must, cannot = [(0, 1), (1, 2), (2, 3), (1, 3)], [(0, 4), (0, 3), (2, 0), (4, 4)]
    found = contradictions(5, must, cannot)
    assert found.index.tolist() == [1, 2, 3] and found.chains == [[0, 1, 3]]
    assert contradictions(5, must, cannot, n_chains=0).chains == []
    assert explain_chain([0, 1, 3]) == "0 ≠ 3, but 0 = 1, 1 = 3"
    assert explain_chain([0, 1], names=["ann", "bob"]) == "ann ≠ bob, but ann = bob"
    assert "itself" in explain_chain(contradictions(5, must, cannot, n_chains=3).chains[2])
    assert shortest_chain(5, must, 0, 4) == [] and shortest_chain(5, must, 4, 4) == [4]


@given(graph())
@quick
def test_components(g):
    n, E = g
    G = nx.Graph()
    G.add_nodes_from(range(n))
    G.add_edges_from(E)
    z = connected(n, E)
    assert {frozenset(np.flatnonzero(z == c).tolist()) for c in range(z.max() + 1)} == {
        frozenset(c) for c in nx.connected_components(G)
    }
    first = [int(np.flatnonzero(z == c)[0]) for c in range(z.max() + 1)]
    assert first == sorted(first)  # numbered in order of first appearance
    assert (z == connected(n, E[::-1])).all()  # whatever the order of the edges
    uf = UnionFind(n)
    for i, j in E:
        was = uf.same(i, j)
        assert uf.union(i, j) == (not was) and uf.same(i, j)
    assert (uf.labels() == z).all() and uf.n_components == z.max() + 1
    assert all(uf.size(i) == (z == z[i]).sum() for i in range(n))
    many = UnionFind(n).union_many(E)
    assert (many.labels() == z).all() and many.n_components == uf.n_components


def test_union_says_whether_it_joined():
    uf = UnionFind(4)
    assert [uf.union(0, 1), uf.union(1, 2), uf.union(0, 2), uf.union(3, 3)] == [
        True,
        True,
        False,
        False,
    ]
    assert uf.n_components == 2 and uf.same(0, 2) and not uf.same(0, 3)


def rules(n, must, cannot):
    """Must- and cannot-closure by applying the two rules until nothing changes;
    contradictory cannot-links dropped."""
    S = np.eye(n, dtype=bool)
    for i, j in must:
        S[i, j] = S[j, i] = True
    for _ in range(n):
        S = S | (S.astype(int) @ S > 0)
    D = np.zeros((n, n), bool)
    for i, j in cannot:
        if not S[i, j]:
            D[i, j] = D[j, i] = True
    return S.astype(int) - (S.astype(int) @ D @ S > 0)


@given(signed())
@quick
def test_closure(g):
    n, must, cannot = g
    cl = closure(n, must, cannot)
    brute = rules(n, must, cannot)
    assert (implied(cl, np.arange(n)[:, None], np.arange(n)) == brute).all()
    M, C = closure_pairs(cl)
    up = np.triu(brute, 1)
    assert {tuple(e) for e in M.tolist()} == set(
        zip(*(v.tolist() for v in np.nonzero(up == 1)))
    ) and len(M) == cl.n_must
    assert {tuple(e) for e in C.tolist()} == set(
        zip(*(v.tolist() for v in np.nonzero(up == -1)))
    ) and len(C) == cl.n_cannot
    again = closure(n, M, C)  # idempotent
    assert (again.label == cl.label).all() and (again.cannot == cl.cannot).all()
    assert (again.n_must, again.n_cannot, len(again.inside)) == (cl.n_must, cl.n_cannot, 0)
    assert cl.inside.tolist() == contradictions(n, must, cannot).index.tolist()


@given(signed())
@quick
def test_component_cannot(g):
    n, must, cannot = g
    z = ml_components(n, must)
    pairs, count = component_cannot(z, cannot)
    keys = [tuple(sorted((int(z[i]), int(z[j])))) for i, j in cannot if z[i] != z[j]]
    assert {tuple(p): c for p, c in zip(pairs.tolist(), count.tolist())} == {
        k: keys.count(k) for k in keys
    }
    assert pairs.tolist() == sorted(pairs.tolist())


def test_closure_guard_and_iteration():
    cl = closure(
        100,
        [(i, i + 1) for i in range(49)] + [(i, i + 1) for i in range(50, 99)],
        [(0, 99)],
    )
    with pytest.raises(ValueError, match=r"4950 pairs \(max_pairs=4949\)"):
        closure_pairs(cl, max_pairs=4949)
    M, C = closure_pairs(cl, max_pairs=4950)
    assert (
        len(M) == 2 * 1225
        and len(C) == 2500
        and (M[:, 0] < M[:, 1]).all()
        and (C[:, 0] < C[:, 1]).all()
    )
    assert [(len(p), v) for p, v in iter_closure(cl)] == [(1225, 1), (1225, 1), (2500, -1)]
    assert (
        implied(cl, 3, 70) == -1
        and implied(cl, 3, 40) == 1
        and implied(closure(3, [(0, 1)]), 0, 2) == 0
    )


@given(graph())
@quick
def test_blocks_equal_networkx(g):
    n, E = g
    E = list({tuple(sorted(e)) for e in E if e[0] != e[1]})
    G = nx.Graph(E)
    ours = blocks(n, E)
    sets = {
        frozenset(frozenset(E[k]) for k in np.flatnonzero(ours == b))
        for b in set(ours.tolist())
    }
    assert sets == {frozenset(map(frozenset, c)) for c in nx.biconnected_component_edges(G)}
    assert {frozenset(E[k]) for k in bridges(n, E)} == set(map(frozenset, nx.bridges(G)))
    first = [ours.tolist().index(b) for b in range(len(sets))]
    assert first == sorted(first)


@given(graph(max_n=7, max_m=14))
@quick
def test_blocks_with_repeats_and_loops(g):
    """Subdividing every edge makes any multigraph simple and keeps its blocks; networkx
    judges that."""
    n, E = g
    ours = blocks(n, E)
    G = nx.Graph()
    for k, (i, j) in enumerate(E):
        nx.add_path(G, [i, ("e", k), j] if i != j else [i, ("e", k), ("f", k), i])
    mids = [
        {v[1] for e in c for v in e if isinstance(v, tuple)}
        for c in nx.biconnected_component_edges(G)
    ]
    want = set()
    for c in mids:
        want.add(frozenset(c))
    assert {
        frozenset(np.flatnonzero(ours == b).tolist()) for b in set(ours.tolist())
    } == want
    cut = {
        k
        for k, (i, j) in enumerate(E)
        if i != j and not nx.has_path(nx.restricted_view(G, [("e", k)], []), i, j)
    }
    assert set(bridges(n, E).tolist()) == cut


@given(graph())
@quick
def test_colouring_is_valid(g):
    n, E = g
    c = greedy_colouring(n, E)
    deg = np.bincount(
        np.ravel([e for e in {tuple(sorted(e)) for e in E if e[0] != e[1]}]).astype(int),
        minlength=n,
    )
    assert c.shape == (n,) and c.min() == 0
    assert all(c[i] != c[j] for i, j in E if i != j)
    assert c.max() <= deg.max()
    classes = colour_classes(c)
    assert sorted(np.concatenate(classes).tolist()) == list(range(n))
    assert all(len(k) and (c[k] == v).all() for v, k in enumerate(classes))


@pytest.mark.parametrize("m", [20, 60, 150, 435])
def test_colouring_of_dense_graphs(m):
    E = np.random.default_rng(m).permutation(list(combinations(range(30), 2)))[:m]
    c = greedy_colouring(30, E)
    assert (c[E[:, 0]] != c[E[:, 1]]).all() and c.max() <= np.bincount(E.ravel()).max()
    if m == 435:
        assert sorted(c.tolist()) == list(
            range(30)
        )  # the complete graph needs every colour


@given(graph())
@quick
def test_csr(g):
    n, E = g
    indptr, nbr, edge = csr_adjacency(n, E)
    got = sorted(
        (i, int(nbr[h]), int(edge[h]))
        for i in range(n)
        for h in range(indptr[i], indptr[i + 1])
    )
    want = sorted(
        {(i, j, k) for k, (i, j) in enumerate(E)}
        | {(j, i, k) for k, (i, j) in enumerate(E)}
    )
    assert got == want


def test_two_forms_of_input():
    E = np.array([(0, 1), (3, 2)])
    for f in (connected, ml_components, blocks, bridges, greedy_colouring):
        assert (f(5, E) == f(5, E[:, 0], E[:, 1])).all()
    assert (connected(5, E.astype(np.int32)) == connected(5, E.tolist())).all()
    E.setflags(write=False)
    assert contradictions(5, E, E).count == 2


@pytest.mark.parametrize("n", [0, 1, 5])
def test_no_edges(n):
    none = np.empty((0, 2), int)
    for E in ([], none):
        assert connected(n, E).tolist() == list(range(n)) and blocks(n, E).shape == bridges(
            n, E
        ).shape == (0,)
        assert greedy_colouring(n, E).tolist() == [0] * n
        cl = closure(n, E, E)
        assert (cl.n_must, cl.n_cannot) == (0, 0) and [
            len(v) for v in closure_pairs(cl)
        ] == [0, 0]
        assert contradictions(n, E, E).count == 0


@pytest.mark.parametrize(
    "args, message",
    [
        (
            (3, [(0, 1), (2, 3), (-1, 0)]),
            r"2 edges name nodes outside 0..2: first is edge 1: \(2, 3\)",
        ),
        ((3, [0, 1], [1]), "2 first ends but 1 second ends"),
        ((3, [(0, 1, 2)]), r"\(m, 2\) array of nodes, not one of shape \(1, 3\)"),
        ((3, [(0.0, 1.0)]), "integers, not float64"),
        ((3, [("a", "b")]), "integers"),
    ],
)
def test_messages(args, message):
    with pytest.raises(ValueError, match=message):
        edge_ends(*args)


def test_long_chain_does_not_recurse():
    n = 300_000
    path = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    assert len(bridges(n, path)) == n - 1
    found = contradictions(n, path, [(0, n - 1)])
    assert found.count == 1 and found.chains[0] == list(range(n))
    ring = np.vstack([path, (n - 1, 0)])
    assert (blocks(n, ring) == 0).all() and shortest_chain(n, ring, 0, n - 2) == [
        0,
        n - 1,
        n - 2,
    ]
    assert closure(n, path).n_must == n * (n - 1) // 2


def test_million_links_stay_small():
    """Peak of Python-visible memory (NumPy reports to tracemalloc; numba's own arrays
    are counted by the resident size)."""
    import resource, tracemalloc

    rng = np.random.default_rng(0)
    n, m = 200_000, 1_000_000
    y = rng.integers(0, 20_000, n)
    order = np.argsort(y, kind="stable")
    P = np.vstack(
        [
            order[rng.integers(0, n - 1, m // 2)[:, None] + [0, 1]],
            rng.integers(0, n, (m // 2, 2)),
        ]
    )
    same = y[P[:, 0]] == y[P[:, 1]]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    tracemalloc.start()
    found, cl = contradictions(n, P[same], P[~same]), closure(n, P[same], P[~same])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert found.count == 0 and len(cl.inside) == 0
    assert contradictions(n, P[same], P[same][:7]).count == 7
    assert max(peak, grown) < 1e9

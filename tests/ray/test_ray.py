# SPDX-License-Identifier: Apache-2.0
"""examples/ray on a cluster of two nodes of this machine: the page, both nodes' replicas,
and a node that is killed while calls are made and verified."""
import doctest
import pathlib
import re
import threading
import time
import urllib.request

import farcall_serve
import numpy
import pytest
import ray
from ray import serve
from ray.cluster_utils import Cluster

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODULE = str(ROOT / "examples/iree/matmul.vmfb")


def until(said, seconds=180):
    ends = time.monotonic() + seconds
    while not (got := said()):
        assert time.monotonic() < ends
        time.sleep(0.2)
    return got


@pytest.fixture(scope="module")
def cluster():
    made = Cluster(initialize_head=True, head_node_args={
        "num_cpus": 4, "include_dashboard": False, "object_store_memory": 10**8})
    ray.init(address=made.address, log_to_driver=False)
    yield made
    serve.shutdown()
    ray.shutdown()
    made.shutdown()


def test_the_page(cluster, monkeypatch):
    monkeypatch.chdir(ROOT)
    text = (ROOT / "examples/ray/README.md").read_text()
    (source,) = re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)
    test = doctest.DocTestParser().get_doctest(source, {}, "README.md", None, 0)
    failed, tried = doctest.DocTestRunner(
        optionflags=doctest.IGNORE_EXCEPTION_DETAIL).run(test)
    assert (failed, tried) == (0, len(test.examples)) and tried > 8
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen("http://127.0.0.1:8000/matmul/matmul", b"[[[1,2]],[[3]]]")
    assert refused.value.code == 422 and b"shape_mismatch" in refused.value.read()
    serve.delete("matmul")


class Caller(threading.Thread):
    """Calls until it is told to stop; each answer is verified."""

    def __init__(self, function, seed):
        super().__init__()
        self.function, self.numbers = function, numpy.random.default_rng(seed)
        self.good, self.wrong, self.longest, self.over = 0, [], 0.0, False

    def run(self):
        while not self.over:
            a, b = (self.numbers.integers(-99, 99, (8, 8)).astype("f4") for _ in "ab")
            began = time.monotonic()
            try:
                assert (self.function(a, b) == a @ b).all()
                self.good += 1
            except Exception as error:
                self.wrong.append(repr(error))
            self.longest = max(self.longest, time.monotonic() - began)


def test_a_node_is_killed(cluster, capfd):
    second = cluster.add_node(num_cpus=4, object_store_memory=10**8)
    functions = farcall_serve.run(MODULE, autoscaling_config=None, num_replicas=2,
                                  max_replicas_per_node=1)

    def nodes():
        """Where the replicas are that answer."""
        asked = [functions.handle.where.remote() for _ in range(20)]
        found = set()
        for each in asked:
            try:
                found.add(each.result(timeout_s=30)[0])
            except ray.exceptions.RayActorError:
                pass
        return found
    both = until(lambda: (got := nodes()) and len(got) == 2 and got)
    assert second.node_id in both
    callers = [Caller(functions.matmul, seed) for seed in range(4)]
    for each in callers:
        each.start()
    try:
        until(lambda: all(each.good > 20 for each in callers))
        cluster.remove_node(second, allow_graceful=False)
        before = [each.good for each in callers]
        until(lambda: all(each.good > old + 50 for each, old in zip(callers, before)))
        assert until(lambda: (got := nodes()) == both - {second.node_id} and got)
        # A node that comes gets the replica that is missing.
        cluster.add_node(num_cpus=4, object_store_memory=10**8)
        until(lambda: len(nodes()) == 2)
    finally:
        for each in callers:
            each.over = True
        for each in callers:
            each.join()
    with capfd.disabled():
        print(f"\n{sum(each.good for each in callers)} calls verified, the longest took "
              f"{max(each.longest for each in callers):.1f} s")
    assert [each.wrong for each in callers] == [[]] * 4

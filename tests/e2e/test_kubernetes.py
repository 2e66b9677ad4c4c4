# SPDX-License-Identifier: Apache-2.0
"""Compares config/kubernetes and config/kserve with the server: options and probes
exist, times fit together, and names that must be equal are. tests/kubernetes/run
tests that Kubernetes and KServe accept the documents."""
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from conftest import BIN, ROOT, Server, end_servers
from console import user_environment

BASE = ROOT / "config/kubernetes/base"
KSERVE = ROOT / "config/kserve"
READ = "import json, sys, yaml; json.dump([*yaml.safe_load_all(sys.stdin)], sys.stdout)"
# The volumes that a pod may have by the Pod Security Standard "restricted".
VOLUMES = {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral",
           "persistentVolumeClaim", "projected", "secret", "image"}


@pytest.fixture(scope="module")
def documents():
    """The documents of a YAML file."""
    folder = os.environ.get("FARCALL_CLIENTS")
    if not folder:
        pytest.skip("FARCALL_CLIENTS is not set: scripts/test installs what reads YAML")

    def read(path):
        done = subprocess.run([pathlib.Path(folder) / "python", "-c", READ],
                              input=path.read_text(), capture_output=True, text=True,
                              check=True, timeout=60)
        return json.loads(done.stdout)
    return read


@pytest.fixture(scope="module")
def deployment(documents):
    return documents(BASE / "deployment.yaml")[0]["spec"]["template"]["spec"]


@pytest.fixture(scope="module")
def runtime(documents):
    return documents(KSERVE / "runtime.yaml")[0]["spec"]


@pytest.fixture(scope="module")
def running():
    """A server of the examples, as in the image."""
    server = Server("--isolation=auto", ROOT / "examples/iree")
    yield server
    end_servers([server])


def seconds(arguments, option):
    """The value of an option like --drain=25s."""
    (found,) = [re.fullmatch(rf"{option}=(\d+)s", each)[1] for each in arguments
                if each.startswith(option + "=")]
    return int(found)


def check_probes(server, container):
    for kind in ("startupProbe", "readinessProbe", "livenessProbe"):
        path = container[kind]["httpGet"]["path"]
        assert server.get(path).status == 200, path
        assert server.get(path + "x").status == 404


def check_restricted(pod, container):
    """The requirements of the Pod Security Standard "restricted" for a pod."""
    assert pod.get("hostNetwork", pod.get("hostPID", pod.get("hostIPC"))) is None
    said = container["securityContext"]
    assert said["allowPrivilegeEscalation"] is False and not said.get("privileged")
    assert said["runAsNonRoot"] is True and said["readOnlyRootFilesystem"] is True
    assert said["capabilities"] == {"drop": ["ALL"]}
    assert said["seccompProfile"] == {"type": "RuntimeDefault"}
    for volume in pod.get("volumes", []):
        assert set(volume) - {"name"} <= VOLUMES


def test_the_pod(deployment, running, tmp_path):
    (container,) = deployment["containers"]
    check_probes(running, container)
    check_restricted(deployment, container)
    arguments = [each.replace("/etc/farcall", str(BASE)) for each in container["args"]]
    assert arguments != container["args"]
    done = subprocess.run([BIN / "farcalld", "-t", *arguments], capture_output=True,
                          text=True, timeout=60, env=user_environment())
    assert done.returncode == 0, done.stderr
    leaves = seconds(arguments, "--pre-drain") + seconds(arguments, "--drain")
    assert deployment["terminationGracePeriodSeconds"] >= leaves + 10
    ready = container["readinessProbe"]
    assert seconds(arguments, "--pre-drain") > \
        ready["periodSeconds"] * ready["failureThreshold"]
    # User and port must be the image's.
    image = (ROOT / "Dockerfile").read_text()
    user = deployment["securityContext"]["runAsUser"]
    assert f"USER {user}:{user}" in image
    (port,) = container["ports"]
    assert f"FARCALL_LISTEN=0.0.0.0:{port['containerPort']}" in image


def test_the_configuration_of_the_pod(tmp_path):
    """A server starts with the file; only its path is replaced by that of the models."""
    text = (BASE / "farcalld.conf").read_text()
    models = ROOT / "examples/iree"
    (tmp_path / "farcalld.conf").write_text(text.replace('"/models"', f'"{models}"'))
    server = Server("--isolation=auto", "-c", tmp_path / "farcalld.conf")
    assert server.results("matmul/matmul", [[[2]], [[3]]]) == [[[6.0]]]
    assert server.stop() == 0


def test_the_image_is_that_of_this_version(documents, runtime):
    version = re.search(r"^project\(farcall VERSION (\S+)",
                        (ROOT / "CMakeLists.txt").read_text(), re.M)[1]
    for folder in (BASE, KSERVE):
        (image,) = documents(folder / "kustomization.yaml")[0]["images"]
        assert image == {"name": "farcall", "newTag": version}
    (container,) = runtime["containers"]
    assert container["image"] == f"farcall:{version}"


def assert_probe_of_grpc(running):
    """Sends the health check that a kubelet sends to a port of appProtocol h2c."""
    done = subprocess.run(
        ["curl", "-sS", "-m", "60", "--http2-prior-knowledge", "-i", "--data-binary", "@-",
         "-H", "Content-Type: application/grpc", "-H", "TE: trailers",
         f"{running.url}/grpc.health.v1.Health/Check"], input=bytes(5), capture_output=True)
    assert done.returncode == 0, done.stderr
    assert bytes([0, 0, 0, 0, 2, 8, 1]) in done.stdout  # SERVING


def test_names_that_must_be_the_same(documents, deployment, running):
    labels = documents(BASE / "kustomization.yaml")[0]["labels"]
    assert labels[0]["includeSelectors"] is True
    (container,) = deployment["containers"]
    port = container["ports"][0]["name"]
    (service,) = documents(BASE / "service.yaml")
    assert {each["targetPort"] for each in service["spec"]["ports"]} == {port}
    assert service["spec"]["ports"][1]["appProtocol"] == "kubernetes.io/h2c"
    assert_probe_of_grpc(running)
    (monitor,) = documents(BASE / "monitor.yaml")
    (endpoint,) = monitor["spec"]["endpoints"]
    assert endpoint["port"] == service["spec"]["ports"][0]["name"]
    assert running.get(endpoint["path"]).status == 200
    (policy,) = documents(BASE / "network.yaml")
    assert policy["spec"]["ingress"][0]["ports"][0]["port"] == port
    (scaler,) = documents(BASE / "autoscaler.yaml")
    assert scaler["spec"]["scaleTargetRef"]["name"] == \
        documents(BASE / "deployment.yaml")[0]["metadata"]["name"]
    metrics = [each["pods"]["metric"]["name"] for each in scaler["spec"]["metrics"]
               if each["type"] == "Pods"]
    (adapter,) = documents(ROOT / "config/kubernetes/prometheus-adapter.yaml")
    rules = adapter["rules"]["custom"]
    assert [re.match(r"\w+", each["seriesQuery"])[0] for each in rules] == metrics
    text = running.get("/metrics").body.decode()
    for name in metrics:
        assert f"# TYPE {name} gauge" in text and f'{name}{{module="matmul"}} ' in text


SEVEN = json.loads((ROOT / "examples/digits/seven.json").read_text())[0]
# For each format: a function, its one input, the input's type and value, and the first
# output and its value.
FORMATS = {"vmfb": ("digits.classify", "image", "INT8", SEVEN, "0/digit", 7),
           "mlir": ("tensor.mlp", "x", "FP32", [[1, 2, 3, 4]], None,
                    [[-5.8750005, 2.125]])}


def check_model(server, model, name, datatype, value, output, wanted):
    """Calls the model by all protocols of the runtime."""
    shape, flat = [len(value), len(value[0])], [each for row in value for each in row]
    answer = server.request("POST", f"/v2/models/{model}/infer", json.dumps(
        {"inputs": [{"name": name, "shape": shape, "datatype": datatype,
                     "data": flat}]}))
    assert answer.status == 200, answer.body
    first = answer.json["outputs"][0]
    assert output in (None, first["name"])
    assert first["data"] == (sum(wanted, []) if isinstance(wanted, list) else [wanted])
    answer = server.request("POST", f"/v1/models/{model}:predict",
                            json.dumps({"inputs": {name: value}}))
    assert answer.status == 200, answer.body
    got = answer.json["outputs"]
    assert (got[output] if output else got) == wanted
    done = subprocess.run(
        [BIN / "farcall", "call", model.replace(".", "/", 1), f"--json={json.dumps([value])}",
         f"--server=grpc://{server.host}:{server.port}"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["results"][0] == wanted


@pytest.mark.parametrize("way", ["volume", "modelcar"])
def test_the_runtime_of_kserve(runtime, corpus, tmp_path, way):
    """Uses the runtime's arguments, with /mnt/models as KServe provides it: as a
    folder, or as a link into the files of another process. Calls a model of each
    format that the runtime declares."""
    assert {each["name"] for each in runtime["supportedModelFormats"]} == FORMATS.keys()
    assert runtime["protocolVersions"] == ["v1", "v2", "grpc-v2"]
    (container,) = runtime["containers"]
    check_restricted({}, container)
    (tmp_path / "models").mkdir()
    shutil.copy(ROOT / "examples/iree/digits.vmfb", tmp_path / "models")
    for each in corpus.glob("tensor.*"):
        shutil.copy(each, tmp_path / "models")
    mounted, car = tmp_path / "models", None
    if way == "modelcar":
        car = subprocess.Popen(["sleep", "600"])
        mounted = tmp_path / "mnt"
        mounted.symlink_to(f"/proc/{car.pid}/root{tmp_path}/models")
    assert "--listen=0.0.0.0:8080" in container["args"]
    server = Server("--isolation=auto", *(
        each.replace("/mnt/models", str(mounted)) for each in container["args"]
        if not each.startswith(("--listen", "--pre-drain", "--log-format"))))
    try:
        check_probes(server, container)
        for each in FORMATS.values():
            check_model(server, *each)
    finally:
        status = server.stop()
        if car:
            car.kill()
            car.wait(timeout=60)
    assert status == 0


def test_services_ask_for_formats_of_the_runtime(documents, runtime):
    formats = {each["name"] for each in runtime["supportedModelFormats"]
               if each["autoSelect"]}
    for name in ("digits.yaml", "modelcar.yaml"):
        for service in documents(KSERVE / name):
            model = service["spec"]["predictor"]["model"]
            assert model["modelFormat"]["name"] in formats
            assert model["protocolVersion"] in runtime["protocolVersions"]
            assert re.match("(pvc|oci)://", model["storageUri"])

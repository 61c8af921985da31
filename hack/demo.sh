#!/usr/bin/env bash
# The demo: starts the local cluster, installs Gangway and shows it at work.
# Each step is printed as a person would type it, with its output. A second run
# works on the cluster that the first one left running.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
begin=$SECONDS
bold='' plain=''
if [[ -t 1 ]]; then bold=$'\e[1m' plain=$'\e[0m'; fi

title() { printf '\n%s== %s (%ss)%s\n' "$bold" "$*" "$((SECONDS - begin))" "$plain"; }
say() { printf '# %s\n' "$@"; }

# Prints a command and runs it. A failure ends the demo.
run() {
  printf '%s$ %s%s\n' "$bold" "$*" "$plain"
  eval "$@" 2>&1 || fail "this step failed: $*"
}

# The same for a command that must be refused with a message that names $1.
refused() {
  local want=$1 out
  shift
  printf '%s$ %s%s\n' "$bold" "$*" "$plain"
  if out=$(eval "$@" 2>&1); then fail "this step should have been refused: $*"; fi
  printf '%s\n' "$out"
  [[ $out == *"$want"* ]] || fail "the refusal does not name $want"
}

# Fails unless the two are equal.
expect() {
  [[ $2 == "$3" ]] || fail "$1: $2, but $3 were expected"
  say "$1: $2"
}

fail() {
  printf '\nerror: %s\n' "$*" >&2
  printf 'The cluster still runs, so that you can look around; see bin/cluster status and .cluster/logs.\n' >&2
  printf 'Stop it with: make demo-stop\n' >&2
  exit 1
}

# Names of the Pods of a ModelServing, of all or of those bound to a node.
pods() { kubectl get pods -l "modelserving.volcano.sh/name=$1" -o name; }
bound() {
  kubectl get pods -l "modelserving.volcano.sh/name=$1" \
    -o 'jsonpath={range .items[?(@.spec.nodeName)]}{.metadata.name}{"\n"}{end}'
}
count() { "$@" | grep -c . || true; }

if [[ ${GATEWAY:-} == 1 ]]; then bin/gateway-bed --check || exit 1; fi

title "A real Kubernetes on this machine"
run bin/cluster up
export KUBECONFIG=$PWD/.cluster/kubeconfig PATH=$PWD/bin/assets:$PATH
say "from here on: export KUBECONFIG=.cluster/kubeconfig PATH=bin/assets:\$PATH"
run bin/cluster install
kubectl delete modelserving sample too-big --ignore-not-found --wait >/dev/null
kubectl delete namespace ai-demo --ignore-not-found --wait >/dev/null
kubectl delete persistentvolume qwen-model --ignore-not-found --wait >/dev/null
run "kubectl get nodes -o custom-columns='NAME:.metadata.name,CPU:.status.allocatable.cpu,GPU:.status.allocatable.nvidia\.com/gpu,VGPU:.status.allocatable.volcano\.sh/vgpu-number'"

title "A gang that fits"
say "4 prefill and 4 decode instances, each an entry and a worker: 16 Pods." \
  "The gang is complete with 2 + 2 instances: 8 Pods, all or nothing."
run kubectl apply -f config/samples/modelserving-pd.yaml
run kubectl wait --for=condition=Ready modelserving/sample --timeout=120s
run kubectl get ms sample
run kubectl get podgroup sample-0 -o custom-columns=NAME:.metadata.name,MINMEMBER:.spec.minMember,PHASE:.status.phase,RUNNING:.status.running
run "kubectl get podgroup sample-0 -o jsonpath='{.spec}' && echo"
run kubectl get pods -l modelserving.volcano.sh/name=sample -o wide
expect "Pods bound to a node" "$(count bound sample)" 16
expect "minMember of the PodGroup" "$(kubectl get podgroup sample-0 -o 'jsonpath={.spec.minMember}')" 8
run kubectl get services -l modelserving.volcano.sh/name=sample
run kubectl get events --field-selector involvedObject.name=sample

title "A gang that does not fit"
say "The same, but each Pod asks for 20 of a node's 32 CPUs: 4 nodes hold 4 Pods, 8 are needed."
run kubectl apply -f hack/demo/too-big.yaml
run kubectl wait "--for=jsonpath='{.status.conditions[?(@.type==\"Ready\")].reason}'=GangPending" modelserving/too-big --timeout=120s
run kubectl get ms too-big
run kubectl get pods -l modelserving.volcano.sh/name=too-big
expect "Pods bound to a node" "$(count bound too-big)" 0
run kubectl delete ms too-big

title "A vLLM model behind a Gateway"
run kubectl apply -f hack/demo/gateway.yaml
run kubectl apply -f config/samples/vllmservice.yaml
run kubectl -n ai-demo wait --for=condition=Available vllmservice/qwen-demo --timeout=120s
run kubectl -n ai-demo get vllmservice,deployment,service,httproute,pods
run "kubectl -n ai-demo get httproute qwen-demo -o jsonpath='{.spec}' && echo"
say "No Gateway controller runs here, and the service says so:"
run "kubectl -n ai-demo get vllmservice qwen-demo -o jsonpath='{range .status.conditions[*]}{.type}={.status} {.reason}: {.message}{\"\\n\"}{end}'"

title "Wrong manifests are refused, with every fault at once"
refused spec.gatewayRef.host kubectl apply -f hack/demo/wrong-modelserving.yaml
refused spec.gatewayRef.host kubectl apply -f hack/demo/wrong-vllmservice.yaml
refused replicsa kubectl apply -f hack/demo/unknown-field.yaml

title "Scaling a role"
run "kubectl patch ms sample --type=json -p '[{\"op\": \"replace\", \"path\": \"/spec/template/roles/1/replicas\", \"value\": 6}]'"
run kubectl wait "--for=jsonpath='{.status.observedGeneration}'=$(kubectl get ms sample -o 'jsonpath={.metadata.generation}')" modelserving/sample --timeout=60s
run kubectl wait --for=condition=Ready modelserving/sample --timeout=120s
run kubectl get pods -l modelserving.volcano.sh/name=sample,modelserving.volcano.sh/role=decode
expect "Pods bound to a node" "$(count bound sample)" 20

title "Deleting, and nothing is left"
run kubectl delete ms sample
run kubectl wait --for=delete pods,services,podgroups,controllerrevisions -l modelserving.volcano.sh/name=sample --timeout=60s
run kubectl get pods,services,podgroups,controllerrevisions -l modelserving.volcano.sh/name=sample
expect "Pods of sample" "$(count pods sample)" 0

if [[ ${GATEWAY:-} == 1 ]]; then . hack/demo-gateway.sh; fi

title "Done"
cat <<'END'
The cluster keeps running. Look around:
  export KUBECONFIG=.cluster/kubeconfig PATH=bin/assets:$PATH
  kubectl get ms,vllmservice -A
  kubectl explain modelserving.spec
  bin/cluster status            # programs, addresses, logs
Stop it:
  make demo-stop
END

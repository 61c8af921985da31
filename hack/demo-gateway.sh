# The end of `make demo GATEWAY=1`, sourced by hack/demo.sh: the Gateway of the
# VLLMService gets a real controller, and the Pods' addresses answer.
# shellcheck shell=bash

# Prints the port at which the Gateway may listen. The bed goes on after the
# demo and ends with the cluster; one that runs already is used.
gateway_bed() {
  local log=.cluster/logs/gateway-bed.log pidfile=.cluster/gateway-bed.pid pid deadline=$((SECONDS + 60))
  if ! { grep -q gateway-bed "/proc/$(<"$pidfile")/cmdline" && grep -q '^ready' "$log"; } 2>/dev/null; then
    mkdir -p .cluster/logs
    # The variable marks it as a process of this cluster: `bin/cluster down` ends it.
    GANGWAY_CLUSTER=$PWD/.cluster setsid bin/gateway-bed --state-dir .cluster >"$log" 2>&1 </dev/null &
    echo $! >"$pidfile"
  fi
  pid=$(<"$pidfile")
  until grep -q '^ready' "$log"; do
    kill -0 "$pid" 2>/dev/null || fail "$(tail -n 5 "$log")"
    ((SECONDS < deadline)) || fail "bin/gateway-bed is not ready after 60s; its log is $log"
    sleep 0.2
  done
  sed -n 's/^ready ports=\([0-9]*\),.*/\1/p' "$log"
}

# Runs a command until its output holds $1, for at most 30s: a Gateway
# controller accepts a route a moment before it carries requests.
until_says() {
  local want=$1 out='' deadline=$((SECONDS + 30))
  shift
  printf '%s$ %s%s\n' "$bold" "$*" "$plain"
  until out=$(eval "$@" 2>&1) && [[ $out == *"$want"* ]]; do
    ((SECONDS < deadline)) || fail "no answer with $want after 30s, but: $out"
    sleep 0.2
  done
  printf '%s\n' "$out"
}

title "Real HTTP through a real Gateway"
say "traefik implements Gateways on 127.0.0.1, and a model server answers at the address of each vLLM Pod."
gateway_port=$(gateway_bed)
run "kubectl apply -f - <<<'{apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, metadata: {name: traefik}, spec: {controllerName: traefik.io/gateway-controller}}'"
run "kubectl -n ai-demo patch gateway llm-gateway --type=merge -p '{\"spec\": {\"gatewayClassName\": \"traefik\", \"listeners\": [{\"name\": \"http\", \"protocol\": \"HTTP\", \"port\": $gateway_port}]}}'"
run kubectl -n ai-demo wait --for=condition=Ready vllmservice/qwen-demo --timeout=60s
run kubectl -n ai-demo wait "--for=jsonpath='{.status.address}'=http://llm.example.local:$gateway_port" vllmservice/qwen-demo --timeout=60s
run kubectl -n ai-demo get vllmservice qwen-demo -o wide
until_says '[DONE]' "curl -sSN -H 'Host: llm.example.local' http://127.0.0.1:$gateway_port/v1/chat/completions -d '{\"model\": \"qwen2.5-1.5b-instruct\", \"stream\": true, \"messages\": [{\"role\": \"user\", \"content\": \"all aboard\"}]}'"
say "Another host leads nowhere:"
run "curl -sS -o /dev/null -w '%{http_code}\n' -H 'Host: other.example.local' http://127.0.0.1:$gateway_port/v1/models"
run "curl -sS --fail-with-body -H 'Host: llm.example.local' http://127.0.0.1:$gateway_port/v1/models"

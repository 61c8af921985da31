// Package modelserver is a small HTTP server that speaks the part of the OpenAI API that vLLM
// serves: /health, /v1/models and /v1/chat/completions, whole and streamed. It stands in for a
// model wherever a test needs real HTTP behind a Gateway; its answers are the words of the last
// message, one word a token.
package modelserver

/**
 * Programs that serve models over HTTP, where their APIs differ. `openai`: the OpenAI service, or a server that
 * follows its API exactly. `unknown`: any other server with that API.
 */
export const SERVER_KINDS = ['vllm', 'sglang', 'llama-server', 'openai', 'unknown'] as const;

export type ServerKind = (typeof SERVER_KINDS)[number];

/**
 * Programs that serve models over HTTP, as far as their words differ. `openai`: the service itself, or what follows it to
 * the letter. `unknown`: some server of the same format.
 */
export const SERVER_KINDS = ['vllm', 'sglang', 'llama-server', 'openai', 'unknown'] as const;

export type ServerKind = (typeof SERVER_KINDS)[number];

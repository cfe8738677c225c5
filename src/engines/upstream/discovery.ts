import { z } from 'zod';
import type { Abilities } from '../../core/abilities.ts';
import { ServiceError } from '../../core/error.ts';
import { UPSTREAM_QUERY_MS } from '../limits.ts';
import type { ServerKind } from '../../core/server-kind.ts';
import { omitNullish } from '../../lib/omit-nullish.ts';
import type { ServerAddress } from '../remote/server-address.ts';
import { parseCallBody } from '../remote/read-body-text.ts';
import type { UpstreamClient } from '../remote/upstream-client.ts';
import { tryParseJson } from '../remote/try-parse-json.ts';
import { readErrorResponse } from '../remote/read-error-response.ts';
import { getUpstreamEvidence, UpstreamError } from '../upstream-error.ts';

/** Metadata that a server reports about itself and its model; unreported fields are absent. */
export interface UpstreamMetadata {
  readonly kind: ServerKind;
  readonly contextTokens?: number;
  readonly vocabularySize?: number;
  readonly chatTemplate?: string;
  readonly bosToken?: string;
  readonly eosToken?: string;
  /** Maximum number of choices that the server generates in parallel for one request. */
  readonly choicesMax?: number;
  readonly abilities: Abilities;
  /** The last failure, if the server could not be queried, or not completely. */
  readonly failure?: ServiceError;
}

export interface UpstreamDiscoveryDeps {
  readonly client: UpstreamClient;
  readonly address: ServerAddress;
  /** The model's name at the server. */
  readonly model: string;
  /** Kind of the server, if known in advance. */
  readonly kind?: ServerKind | undefined;
}

const Count = z.int().positive().nullish().catch(undefined);
const Text = z.string().nullish().catch(undefined);
const Flag = z.boolean().nullish().catch(undefined);

const Models = z.object({
  data: z.array(
    z.object({
      id: Text,
      owned_by: Text,
      /** Model of a LoRA adapter. */
      parent: Text,
      aliases: z.array(z.string()).nullish().catch(undefined),
      max_model_len: Count,
      // Other names of the same: of aggregators, of Groq and of LM Studio.
      context_length: Count,
      context_window: Count,
      max_context_length: Count,
      meta: z.object({ n_ctx: Count, n_vocab: Count }).nullish().catch(undefined),
    }),
  ),
});

const Props = z.object({
  default_generation_settings: z.object({ n_ctx: Count }).nullish().catch(undefined),
  total_slots: Count,
  chat_template: Text,
  chat_template_caps: z.object({ supports_tools: Flag }).nullish().catch(undefined),
  modalities: z.object({ vision: Flag, audio: Flag }).nullish().catch(undefined),
  bos_token: Text,
  eos_token: Text,
});

const ModelInfo = z.object({
  has_image_understanding: Flag,
  has_audio_understanding: Flag,
  /** Null if the server was started without a parser and finds no calls; absent in older releases. */
  tool_call_parser: z.string().nullable().optional().catch(undefined),
  reasoning_parser: Text,
});

/** Server kind by the `owned_by` field of the list of models. */
const OWNERS: ReadonlyMap<string | null | undefined, ServerKind> = new Map([
  ['vllm', 'vllm'],
  ['sglang', 'sglang'],
  ['llamacpp', 'llama-server'],
]);

/**
 * Queries a server for its kind and the abilities of its model: first the list of models, which differs between kinds,
 * then a query of that kind. An unsupported query is no failure. A server whose queries fail may still answer requests:
 * the unreported fields are absent, and `failure` has the reason.
 *
 * @throws ServiceError `upstream-failed` when nothing listens at the address.
 */
export async function discoverUpstream({
  client,
  address,
  model,
  kind: declared,
}: UpstreamDiscoveryDeps): Promise<UpstreamMetadata> {
  const query = (path: string): Promise<QueryResult> => queryMetadata(client, address, path);
  const list = await query('models');
  const models = Models.safeParse(list.value).data?.data ?? [];
  const modelCard =
    models.find(({ id, aliases }) => id === model || aliases?.includes(model)) ??
    (models.length === 1 ? models[0] : undefined);
  // vLLM states the context of a model, but not of its LoRA adapters.
  const contextCard = modelCard?.parent ? (models.find(({ id }) => id === modelCard.parent) ?? modelCard) : modelCard;
  const kind = declared ?? OWNERS.get((modelCard ?? models[0])?.owned_by) ?? guessKindByHost(address.host);
  const kindMetadata = list.failure ? { abilities: {} } : await discoverByKind(kind, query);
  return {
    kind,
    ...omitNullish({
      contextTokens:
        contextCard?.max_model_len ??
        contextCard?.meta?.n_ctx ??
        contextCard?.context_length ??
        contextCard?.context_window ??
        contextCard?.max_context_length,
      vocabularySize: modelCard?.meta?.n_vocab,
      failure: list.failure,
    }),
    ...kindMetadata,
  };
}

const guessKindByHost = (host: string): ServerKind =>
  /(^|\.)openai\.(com|azure\.com)(:\d+)?$/.test(host) ? 'openai' : 'unknown';

async function discoverByKind(
  kind: ServerKind,
  query: (path: string) => Promise<QueryResult>,
): Promise<Omit<UpstreamMetadata, 'kind'>> {
  switch (kind) {
    case 'llama-server': {
      const { value, failure } = await query('/props');
      return { ...parseProps(Props.safeParse(value).data), ...omitNullish({ failure }) };
    }
    case 'sglang': {
      const currentRoute = await query('/model_info');
      const { value, failure } = currentRoute.value === undefined ? await query('/get_model_info') : currentRoute;
      const info = ModelInfo.safeParse(value).data;
      const parser = info?.tool_call_parser;
      const abilities = omitNullish({
        vision: info?.has_image_understanding,
        audio: info?.has_audio_understanding,
        tools: parser === undefined ? undefined : parser !== null,
        thinking: info?.reasoning_parser ? ('native' as const) : undefined,
      });
      return { abilities, ...omitNullish({ failure }) };
    }
    default:
      return { abilities: {} };
  }
}

function parseProps(props: z.output<typeof Props> | undefined): Omit<UpstreamMetadata, 'kind'> {
  if (!props) return { abilities: {} };
  const template = props.chat_template ?? undefined;
  return {
    ...omitNullish({
      contextTokens: props.default_generation_settings?.n_ctx,
      choicesMax: props.total_slots,
      chatTemplate: template,
      bosToken: props.bos_token,
      eosToken: props.eos_token,
    }),
    abilities: omitNullish({
      vision: props.modalities?.vision,
      audio: props.modalities?.audio,
      tools:
        props.chat_template_caps?.supports_tools ?? (template === undefined ? undefined : /\btools\b/.test(template)),
      // A template without these words may still belong to a thinking model.
      thinking:
        template !== undefined && /enable_thinking|<think>|reasoning_effort/.test(template)
          ? ('native' as const)
          : undefined,
      logprobs: true,
    }),
  };
}

interface QueryResult {
  /** Undefined if the server does not support the query. */
  readonly value?: unknown;
  readonly failure?: ServiceError;
}

async function queryMetadata(client: UpstreamClient, address: ServerAddress, path: string): Promise<QueryResult> {
  try {
    return { value: await fetchJson(client, path) };
  } catch (thrown) {
    if (getUpstreamEvidence(thrown) === 'unreachable') throw thrown;
    return { failure: addQueryPath(address.resolveUrl(path).pathname, ServiceError.from(thrown)) };
  }
}

/** Adds the path of the failed query to the cause, so that the log shows it. */
function addQueryPath(pathname: string, { kind, message, retryAfterSeconds, cause }: ServiceError): ServiceError {
  const causeMessage = cause instanceof Error ? cause.message : message;
  return new ServiceError(kind, message, {
    retryAfterSeconds,
    cause: new UpstreamError(`${causeMessage} (GET ${pathname})`),
  });
}

async function fetchJson(client: UpstreamClient, path: string): Promise<unknown> {
  const call = await client.get(path, { responseMs: UPSTREAM_QUERY_MS });
  const status = call.response.statusCode ?? 0;
  if (status === 429 || (status >= 500 && status !== 501)) throw await readErrorResponse(call, client.errors);
  return await parseCallBody(call, (text) => (status === 200 && text !== undefined ? tryParseJson(text) : undefined));
}

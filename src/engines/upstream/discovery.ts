import { z } from 'zod';
import type { Abilities } from '../../core/abilities.ts';
import { ServiceError } from '../../core/error.ts';
import { UPSTREAM_ASK_MS, UPSTREAM_BODY_CHARACTERS_MAX } from '../../core/limits.ts';
import type { ServerKind } from '../../core/server-kind.ts';
import { present } from '../../lib/present.ts';
import type { Address } from '../remote/address.ts';
import { bodyText } from '../remote/body-text.ts';
import type { Connection } from '../remote/connection.ts';
import { jsonOf } from '../remote/json-of.ts';
import { refusalOf } from '../remote/refusal.ts';
import { shownBy, UpstreamCause } from '../upstream-cause.ts';

/** What a server told about itself and its model; what it kept to itself is absent. */
export interface Found {
  readonly kind: ServerKind;
  readonly contextTokens?: number;
  readonly vocabularySize?: number;
  readonly chatTemplate?: string;
  readonly bosToken?: string;
  readonly eosToken?: string;
  /** Answers of one request that it can run side by side. */
  readonly choicesMax?: number;
  readonly abilities: Abilities;
  /** It could not be asked, or not for everything: the last failure. */
  readonly failure?: ServiceError;
}

export interface DiscoveryNeeds {
  readonly connection: Connection;
  readonly address: Address;
  /** The model's name at the server. */
  readonly model: string;
  /** Known without asking. */
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
      aliases: z.array(z.string()).nullish().catch(undefined),
      max_model_len: Count,
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
  /** Null where it was started without one, and finds no calls; absent in older releases. */
  tool_call_parser: z.string().nullable().optional().catch(undefined),
  reasoning_parser: Text,
});

/** Who owns a model, in the list of models, by the servers that say themselves. */
const OWNERS: ReadonlyMap<string | null | undefined, ServerKind> = new Map([
  ['vllm', 'vllm'],
  ['sglang', 'sglang'],
  ['llamacpp', 'llama-server'],
]);

/**
 * Asks a server what it is and what its model can do: the list of models tells all kinds apart, then the kind's own
 * question. What it does not know is no failure. A server that cannot say what it is may still answer requests: what it
 * did not tell is absent then, and `failure` says why.
 *
 * @throws ServiceError `upstream-failed` where nobody is there at all.
 */
export async function discover({ connection, address, model, kind: declared }: DiscoveryNeeds): Promise<Found> {
  const ask = (path: string): Promise<Told> => told(connection, address, path);
  const list = await ask('models');
  const models = Models.safeParse(list.value).data?.data ?? [];
  const card =
    models.find(({ id, aliases }) => id === model || aliases?.includes(model)) ??
    (models.length === 1 ? models[0] : undefined);
  const kind = declared ?? OWNERS.get((card ?? models[0])?.owned_by) ?? kindOfHost(address.host);
  const further = list.failure ? { abilities: {} } : await askKind(kind, ask);
  return {
    kind,
    ...present({
      contextTokens: card?.max_model_len ?? card?.meta?.n_ctx,
      vocabularySize: card?.meta?.n_vocab,
      failure: list.failure,
    }),
    ...further,
  };
}

const kindOfHost = (host: string): ServerKind =>
  /(^|\.)openai\.(com|azure\.com)(:\d+)?$/.test(host) ? 'openai' : 'unknown';

async function askKind(kind: ServerKind, ask: (path: string) => Promise<Told>): Promise<Omit<Found, 'kind'>> {
  switch (kind) {
    case 'llama-server': {
      const { value, failure } = await ask('/props');
      return { ...fromProps(Props.safeParse(value).data), ...present({ failure }) };
    }
    case 'sglang': {
      const newer = await ask('/model_info');
      const { value, failure } = newer.value === undefined ? await ask('/get_model_info') : newer;
      const info = ModelInfo.safeParse(value).data;
      const parser = info?.tool_call_parser;
      const abilities = present({
        vision: info?.has_image_understanding,
        audio: info?.has_audio_understanding,
        tools: parser === undefined ? undefined : parser !== null,
        thinking: info?.reasoning_parser ? ('native' as const) : undefined,
      });
      return { abilities, ...present({ failure }) };
    }
    default:
      return { abilities: {} };
  }
}

function fromProps(props: z.output<typeof Props> | undefined): Omit<Found, 'kind'> {
  if (!props) return { abilities: {} };
  const template = props.chat_template ?? undefined;
  return {
    ...present({
      contextTokens: props.default_generation_settings?.n_ctx,
      choicesMax: props.total_slots,
      chatTemplate: template,
      bosToken: props.bos_token,
      eosToken: props.eos_token,
    }),
    abilities: present({
      vision: props.modalities?.vision,
      audio: props.modalities?.audio,
      tools:
        props.chat_template_caps?.supports_tools ?? (template === undefined ? undefined : /\btools\b/.test(template)),
      // A template without a word of it may still belong to a model that thinks.
      thinking:
        template !== undefined && /enable_thinking|<think>|reasoning_effort/.test(template)
          ? ('native' as const)
          : undefined,
      logprobs: true,
    }),
  };
}

interface Told {
  /** Undefined: the server knows no such question. */
  readonly value?: unknown;
  readonly failure?: ServiceError;
}

async function told(connection: Connection, address: Address, path: string): Promise<Told> {
  try {
    return { value: await answerTo(connection, path) };
  } catch (thrown) {
    if (shownBy(thrown) === 'unreachable') throw thrown;
    return { failure: asking(address.of(path).pathname, ServiceError.from(thrown)) };
  }
}

/** The log is to know which question failed: people look for it among the answers. */
function asking(pathname: string, { kind, message, retryAfterSeconds, cause }: ServiceError): ServiceError {
  const why = cause instanceof Error ? cause.message : message;
  return new ServiceError(kind, message, { retryAfterSeconds, cause: new UpstreamCause(`${why} (GET ${pathname})`) });
}

async function answerTo(connection: Connection, path: string): Promise<unknown> {
  const call = await connection.get(path, { answerMs: UPSTREAM_ASK_MS });
  const { response, watch, why } = call;
  const status = response.statusCode ?? 0;
  if (status === 429 || (status >= 500 && status !== 501)) throw await refusalOf(call, connection.faults);
  try {
    const text = await bodyText(response, UPSTREAM_BODY_CHARACTERS_MAX);
    return status === 200 && text !== undefined ? jsonOf(text) : undefined;
  } catch (thrown) {
    throw why(thrown);
  } finally {
    watch.rest();
  }
}

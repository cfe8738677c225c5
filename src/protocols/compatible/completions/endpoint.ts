import type { Catalogue } from '../../../catalogue/model.ts';
import { ServiceError } from '../../../core/error.ts';
import { ASKED_CHARS_MAX } from '../../../core/limits.ts';
import { collect } from '../../../generation/collect.ts';
import { generateEach } from '../../../generation/generate-each.ts';
import type { Generate } from '../../../generation/generation.ts';
import { unixSeconds } from '../../../lib/clock.ts';
import type { Clock } from '../../../lib/clock.ts';
import { json, stream } from '../../endpoint.ts';
import type { Endpoint } from '../../endpoint.ts';
import { ignoredHeader } from '../../ignored.ts';
import { INTERFACES } from '../../interfaces.ts';
import { parse, parseBody } from '../../parse.ts';
import { decode, setsBoth } from './decode.ts';
import { encode } from './encode.ts';
import { createHead } from './head.ts';
import { checkRules } from './rules.ts';
import { CompletionBody, completionTexts, ModelOnly } from './schema.ts';
import type { CompletionWire } from './schema.ts';
import { completionStream } from './stream.ts';

export interface CompletionsNeeds {
  readonly generate: Generate;
  /** The one in force now: it changes while the service runs. */
  readonly catalogue: () => Pick<Catalogue, 'resolve'>;
  readonly clock: Clock;
  /** Unknown fields are 400 instead of being named in x-parley-ignored. */
  readonly strict?: boolean;
}

/** POST /compatible-mode/v1/completions (E5). */
export function completions({ generate, catalogue, clock, strict = false }: CompletionsNeeds): Endpoint {
  const ours: Generate = (...asked) =>
    generate(...asked).catch((error: unknown) => {
      throw inOurWords(error);
    });
  return {
    operation: 'completions.create',
    method: 'POST',
    path: '/compatible-mode/v1/completions',
    family: 'compatible',
    regions: INTERFACES.completions.regions,
    onDisconnect: 'cancel',
    async handle({ body }, context) {
      const { model } = parse(ModelOnly, body);
      context.log.add({ asked: model.slice(0, ASKED_CHARS_MAX) });
      const { entry } = catalogue().resolve(model, { interface: 'completions', owner: context.owner });
      const { wire, unknown } = parseBody(CompletionBody, body, { texts: completionTexts(entry), strict });
      checkRules(wire);

      const head = createHead(wire, { requestId: context.requestId, created: unixSeconds(clock.now()) });
      const { batches, ignored } = await generateEach(ours, decode(wire), { interface: 'completions' }, context);
      const headers = ignoredHeader([...ignored, ...ignoredFields(wire), ...unknown]);
      if (wire.stream === true) {
        const encoder = completionStream(head, { includeUsage: wire.stream_options?.include_usage === true });
        return stream(batches, encoder, headers);
      }
      return json(encode(head, await collect(batches)), headers);
    },
  };
}

/** Known fields that this version does not honour as they are meant. */
const ignoredFields = (wire: CompletionWire): readonly string[] => [
  ...(setsBoth(wire) ? ['top_p'] : []),
  // Of the answer's tokens they are told all the same.
  ...(wire.echo === true && typeof wire.logprobs === 'number' ? ['logprobs(prompt)'] : []),
];

/** What is too long is a conversation in the engines' words; here there are none. */
function inOurWords(thrown: unknown): ServiceError {
  const error = ServiceError.from(thrown);
  if (error.param !== 'messages') return error;
  const { kind, message, retryAfterSeconds, excess, cause } = error;
  return new ServiceError(kind, message, { param: 'prompt', retryAfterSeconds, excess, cause });
}

import { systemIdGenerator } from '../core/id.ts';
import { createResponseHandler } from '../jobs/kinds/response-handler.ts';
import { createConversationEndpoints } from '../protocols/compatible/conversations/endpoints.ts';
import { createBackgroundRunner } from '../protocols/compatible/responses/background-runner.ts';
import { encodeChange } from '../protocols/compatible/responses/encode-change.ts';
import { createResponseEndpoints } from '../protocols/compatible/responses/endpoints.ts';
import { createConversations } from '../resources/conversations/service.ts';
import { createBackgroundResponses } from '../resources/responses/background-service.ts';
import { createRunNotifier } from '../resources/responses/run-notifier.ts';
import { createResponses } from '../resources/responses/service.ts';
import type { EnginesModule } from './open-engines.ts';
import type { GenerationModule } from './open-generation.ts';
import type { ServiceModule } from './capability.ts';
import type { ServiceContext } from './service-context.ts';

/** Opens conversations and responses, with the job that runs responses in the background. */
export function openResponses(
  { config, clock, log, store, keys, jobNotifier }: ServiceContext,
  { catalogue }: Pick<EnginesModule, 'catalogue'>,
  { generate, translate, findDocument, fitHistory, countPrompt }: GenerationModule,
): ServiceModule {
  const { strict } = config;
  const generationDeps = { generate, translate, catalogue: () => catalogue, clock, strict };
  const conversations = createConversations({ store, clock });
  const runNotifier = createRunNotifier();
  const responses = createResponses({ store, clock, notifier: runNotifier });
  const background = createBackgroundResponses({
    store,
    clock,
    ids: systemIdGenerator,
    encodeStatusChange: encodeChange,
    notifier: runNotifier,
    jobNotifier,
  });
  /** An unknown ability counts: a server that renders prompts itself may see pictures. */
  const canSee = (): boolean =>
    catalogue
      .list()
      .some(({ interfaces, abilities }) => interfaces.includes('responses') && abilities.vision !== false);
  return {
    endpoints: [
      ...createConversationEndpoints({
        conversations,
        responses,
        findDocument,
        ids: systemIdGenerator,
        canSee,
        strict,
      }),
      ...createResponseEndpoints({
        responses,
        background,
        findDocument,
        fitHistory,
        countPrompt,
        ids: systemIdGenerator,
        ...generationDeps,
      }),
    ],
    jobs: {
      response: createResponseHandler({
        background,
        notifier: runNotifier,
        keys,
        clock,
        ids: systemIdGenerator,
        log,
        deadlineMs: config.limits.deadlineStreamMs,
        answer: createBackgroundRunner({
          responses,
          background,
          findDocument,
          fitHistory,
          ids: systemIdGenerator,
          ...generationDeps,
        }),
      }),
    },
  };
}

import { getFamily } from '../catalogue/families/families.ts';
import { getFamilyName, type ResolvedModel } from '../catalogue/model.ts';
import { systemIdGenerator } from '../core/id.ts';
import { createDocumentExtractor } from '../documents/document-extractor.ts';
import { createInlineExtractor } from '../documents/inline-extractor.ts';
import { unlimitedAdmission } from '../generation/admission.ts';
import { createAnswerChecker } from '../generation/answer-checker.ts';
import { createCountPrompt } from '../generation/count-prompt.ts';
import { createDeploymentAdmission, type DeploymentAdmissionDeps } from '../generation/deployment-admission.ts';
import { createEmbedder } from '../generation/embed.ts';
import { createOpenImages } from '../generation/fetch-images.ts';
import { createFitHistory, type FitHistory } from '../generation/fit-history.ts';
import { IMAGE_FETCH_MS_MAX } from '../generation/limits.ts';
import { createGenerate } from '../generation/generate.ts';
import type { Generate } from '../generation/generation.ts';
import { createSplitChoices } from '../generation/split-choices.ts';
import { logOnlyLedger } from '../generation/ledger.ts';
import { createQuotas } from '../generation/quotas.ts';
import { createRanker } from '../generation/rank.ts';
import { createCountWithServerTools } from '../generation/server-tools/count-with-server-tools.ts';
import { shareImages } from '../generation/share-images.ts';
import { createTokenize } from '../generation/tokenize.ts';
import { detectLanguage } from '../generation/translation/detect-language.ts';
import { createTranslate } from '../generation/translation/translate.ts';
import { createWithDocuments } from '../generation/with-documents.ts';
import { createGuardedFetch } from '../net/guarded-fetch.ts';
import { createEngineRouter } from './deployments/engine-router.ts';
import { createTokenizerFinder } from './tokenizer-finder.ts';
import type { EnginesModule } from './open-engines.ts';
import type { FilesModule } from './open-files.ts';
import { openServerTools } from './open-server-tools.ts';
import type { ServiceContext } from './service-context.ts';

interface GenerationDeps {
  readonly files: FilesModule;
  readonly engines: EnginesModule;
  /** Called when a request to a deployment starts to run. @returns a function that is called at its end. */
  readonly onRunStart: NonNullable<DeploymentAdmissionDeps['onRunStart']>;
}

/** Opens what turns requests into text, vectors and rankings, with the server tools that models can call. */
export async function openGeneration(
  context: ServiceContext,
  { files, engines: enginesModule, onRunStart }: GenerationDeps,
) {
  const { config, overrides, clock, openModule } = context;
  const { catalogue, engines, deploymentEngines } = enginesModule;
  const extract = createInlineExtractor(createDocumentExtractor());
  const answerCheck = await openModule('answer check', () => createAnswerChecker());
  const quotas = overrides.quotas ?? createQuotas(clock);
  const admission = createDeploymentAdmission({
    quotas,
    inner: overrides.admission ?? unlimitedAdmission,
    onRunStart,
  });
  const accounting = { admission, ledger: overrides.ledger ?? logOnlyLedger };
  const engineRouter = createEngineRouter(engines, deploymentEngines.callable);
  const { engineFor } = engineRouter;
  const getPromptStyle = ({ entry }: ResolvedModel) => getFamily(getFamilyName(entry));
  const { findDocument } = files.texts;
  const withDocuments = createWithDocuments({ findDocument, extract });
  const openImages = createOpenImages(
    createGuardedFetch({ allow: config.images.allow, timeouts: { totalMs: IMAGE_FETCH_MS_MAX } }),
    config.images,
  );
  const splitChoices = createSplitChoices({ catalogue, acquireEngine: engineFor });
  const generateText = splitChoices(
    createGenerate({
      catalogue,
      acquireEngine: engineFor,
      getModelStyle: getPromptStyle,
      ...accounting,
      ids: systemIdGenerator,
      answerChecker: answerCheck,
      openImages,
    }),
  );
  const translate = createTranslate({ generate: generateText, catalogue, acquireEngine: engineFor, detectLanguage });
  const countText = createCountPrompt({
    catalogue,
    acquireEngine: engineFor,
    acquireTokenizer: createTokenizerFinder({ catalogue, engines }),
    getModelStyle: getPromptStyle,
  });
  const countPrompt = withDocuments(createCountWithServerTools(countText));
  const serverTools = await openServerTools(context, {
    files,
    engines: enginesModule,
    engineFor,
    countPrompt: countText,
    extract,
  });
  const generateWithTools = withDocuments(serverTools.wrapGenerate(generateText));
  const generate: Generate = (request, on, runContext) =>
    shareImages({ openImages, messages: request.messages, context: runContext }, (shared) =>
      generateWithTools(request, on, shared),
    );
  const fitRequest = createFitHistory({ generate, countPrompt });
  const fitHistory: FitHistory = (request, on, runContext) =>
    shareImages({ openImages, messages: request.withoutOldestTurns(0).messages, context: runContext }, (shared) =>
      fitRequest(request, on, shared),
    );
  const tokenize = createTokenize({ catalogue, acquireEngine: engineFor, getModelStyle: getPromptStyle });
  const embed = createEmbedder({ catalogue, acquireEngine: engineRouter.embeddingsFor, ...accounting });
  const rank = createRanker({ catalogue, acquireEngine: engineRouter.rankingFor, ...accounting });

  return {
    quotas,
    extract,
    findDocument,
    generate,
    generateText,
    translate,
    countPrompt,
    fitHistory,
    tokenize,
    embed,
    rank,
    serverTools,
  };
}

export type GenerationModule = Awaited<ReturnType<typeof openGeneration>>;

import { basename } from 'node:path';
import type { RefusedWeights } from '../weights/weights-status.ts';
import { type ErrorKind, ServiceError, type ErrorDetails } from '../core/error.ts';

/** Creates the error of a model that a reload of the catalogue removed. */
export const createModelGoneError = (kind: ErrorKind, model: string, details?: ErrorDetails): ServiceError =>
  new ServiceError(kind, `There is no model ${model} in the catalogue any more.`, details);

/** Creates the error of a model whose file no engine may load. @param problem A clause. */
export const createMalformedFileError = (file: string, problem: string): ServiceError =>
  new ServiceError(
    'overloaded',
    `The model file ${basename(file)} is malformed: ${problem}. The operator must replace it.`,
    { retryAfterSeconds: MALFORMED_RETRY_SECONDS },
  );

/** Creates the error of a model whose engine cannot load a LoRA adapter. @param problem A sentence without its end. */
export const createUnfitAdapterError = (problem: string): ServiceError =>
  new ServiceError('overloaded', `${problem}. The operator must replace it.`, {
    retryAfterSeconds: MALFORMED_RETRY_SECONDS,
  });

/** Creates the error of a model whose weights have other content than the catalogue states. */
export const createDamagedWeightsError = (
  model: string,
  { path, problem }: Pick<RefusedWeights, 'path' | 'problem'>,
): ServiceError =>
  new ServiceError(
    'overloaded',
    `The weights of ${model} are damaged: ${basename(path)}: ${problem}. The operator repairs them with: parley models pull ${model}`,
    { retryAfterSeconds: MALFORMED_RETRY_SECONDS },
  );

/** Creates the error of a model whose engine is to load another file than the one that is there now. */
export const createMovedWeightsError = (model: string, path: string): ServiceError =>
  new ServiceError(
    'overloaded',
    `The weights of ${model} are now at ${basename(path)} in another folder. The operator must restart Parley.`,
    { retryAfterSeconds: MALFORMED_RETRY_SECONDS },
  );

/** Retry-After of requests to such a model, in seconds. */
const MALFORMED_RETRY_SECONDS = 60;

/** Creates the error of a model whose weights were not downloaded. */
export const createMissingWeightsError = (model: string, details?: ErrorDetails): ServiceError =>
  new ServiceError(
    'overloaded',
    `The weights of ${model} are not on this machine: parley models pull ${model}`,
    details,
  );

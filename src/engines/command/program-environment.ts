/**
 * Variables that a server program inherits from Parley: paths, locale, accelerators. Settings of the program itself are
 * not inherited, because they would change its command line unnoticed.
 */
const INHERITED_VARIABLES =
  /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_\w+|TZ|TMPDIR|XDG_\w+|LD_LIBRARY_PATH|DYLD_LIBRARY_PATH|PYTHONPATH|PYTHONHOME|VIRTUAL_ENV|CONDA_PREFIX|SSL_CERT_FILE|SSL_CERT_DIR|HF_HOME|HF_HUB_CACHE|HF_HUB_OFFLINE|HF_ENDPOINT|OMP_\w+|CUDA_\w+|NVIDIA_\w+|NCCL_\w+|HIP_\w+|HSA_\w+|ROCR_\w+|ROCM_\w+|ZE_\w+|ONEAPI_\w+)$/;

/** Names of variables that hold secrets; these are not inherited. */
const SECRET_VARIABLES = /KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL/i;

/** @param programVariables Variables from the operator or a preset; they may hold the program's own secrets. */
export function createProgramEnvironment(
  parleyEnvironment: Readonly<Record<string, string | undefined>>,
  programVariables: Readonly<Record<string, string>>,
): Record<string, string> {
  const inherited = Object.entries(parleyEnvironment).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && INHERITED_VARIABLES.test(entry[0]) && !SECRET_VARIABLES.test(entry[0]),
  );
  return { ...Object.fromEntries(inherited), ...programVariables };
}

/** Returns the values of an environment that no log line may contain. */
export const getSecretValues = (environment: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(environment)
    .filter(([name]) => SECRET_VARIABLES.test(name))
    .map(([, value]) => value);

/**
 * What a server program gets of our own environment: where things are, how texts are written, which accelerator it may
 * use. Settings of the program itself are not among it, for they would change the command line behind our back.
 */
const INHERITED =
  /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_\w+|TZ|TMPDIR|XDG_\w+|LD_LIBRARY_PATH|DYLD_LIBRARY_PATH|PYTHONPATH|PYTHONHOME|VIRTUAL_ENV|CONDA_PREFIX|SSL_CERT_FILE|SSL_CERT_DIR|HF_HOME|HF_HUB_CACHE|HF_HUB_OFFLINE|HF_ENDPOINT|OMP_\w+|CUDA_\w+|NVIDIA_\w+|NCCL_\w+|HIP_\w+|HSA_\w+|ROCR_\w+|ROCM_\w+|ZE_\w+|ONEAPI_\w+)$/;

/** Names of variables that hold secrets. */
const SECRET = /KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL/i;

/** @param given What the operator or a preset gives; it may hold secrets, for they are the program's own. */
export function programEnvironment(
  ours: Readonly<Record<string, string | undefined>>,
  given: Readonly<Record<string, string>>,
): Record<string, string> {
  const kept = Object.entries(ours).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && INHERITED.test(entry[0]) && !SECRET.test(entry[0]),
  );
  return { ...Object.fromEntries(kept), ...given };
}

/** Values of an environment that no log line may hold. */
export const secretsOf = (environment: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(environment)
    .filter(([name]) => SECRET.test(name))
    .map(([, value]) => value);

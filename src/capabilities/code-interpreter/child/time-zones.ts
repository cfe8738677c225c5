/**
 * The wheel of the Python package tzdata with the time zones of IANA, for `zoneinfo`: the interpreter has none, and the
 * sandbox has no files of the host. It lies beside this file and is updated by hand (docs/decisions/0061-packages-for-programs.md).
 */
export const TIME_ZONES = {
  fileName: 'tzdata-2026.6-py2.py3-none-any.whl',
  /** SHA-256 that the package index states. */
  sha256: '0a10eec6e13ef16b627fabed9a5f2ba61a62b1c67f327305f4e7e412a70b4aec',
} as const;

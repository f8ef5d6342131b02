declare module 'murmurhash3js-revisited' {
  const murmur: {
    readonly x86: { hash32(bytes: Uint8Array): number };
    readonly x64: { hash128(bytes: Uint8Array): string };
  };
  export default murmur;
}

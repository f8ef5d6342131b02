/** Types of the parts that package-checksum.ts uses; the package brings none. */
declare module 'murmurhash3js-revisited' {
  interface Murmur {
    readonly x86: { hash32(bytes: Uint8Array, seed?: number): number };
    readonly x64: { hash128(bytes: Uint8Array, seed?: number): string };
  }
  const murmur: Murmur;
  export default murmur;
}

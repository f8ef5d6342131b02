/**
 * A driver of one's own: an ultrasonic ranger (SRF02) looks down on the water in a tank. Anything that exports openSensor can be a sensor.
 *
 * openSensor is called when the agent starts and again after failures; what it throws is the reason that people are told.
 * `read` gives a list of readings: {key, value, unit?, takenAtMs?}. Every method gets an AbortSignal that ends at the sensor's deadline.
 * `ports` has gpio, i2c, serial, oneWire, pwm and modbus; `clock.sleep(ms, signal)` waits; `log` writes to the agent's log;
 * `clientRpc(method, params, signal)` asks the platform's rule chain.
 */

/** Begin a measurement, result in centimetres (SRF02 technical specification, "Commands"). */
const RANGE_IN_CENTIMETRES = 0x51;
const MEASURES_FOR_MS = 70;

export async function openSensor({ options, ports, clock }, signal) {
  const { bus: number, address, heightMetres } = options;
  const bus = await ports.i2c.openBus(number, signal);
  return {
    read: async (readSignal) => {
      await bus.writeRegisters(address, 0, Uint8Array.of(RANGE_IN_CENTIMETRES), readSignal);
      await clock.sleep(MEASURES_FOR_MS, readSignal);
      const distanceMetres = (await bus.readWord(address, 2, readSignal)) / 100;
      if (distanceMetres > heightMetres)
        throw new Error(`an echo from ${distanceMetres} m, below the bottom of the tank`);
      return [{ key: 'level', value: Math.round((heightMetres - distanceMetres) * 100) / 100, unit: 'm' }];
    },
    close: () => bus.close(),
  };
}

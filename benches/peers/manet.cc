// N2: 50 mobile nodes with 802.11b radios in 1000 m x 1000 m, DSDV, 20 flows of 4 datagrams of 512 B per second, 100 s, in
// ns-3. The movements are random waypoints at 1 to 20 m/s, and the range is 250 m.
#include <iostream>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/dsdv-module.h"
#include "ns3/internet-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/wifi-module.h"

using namespace ns3;

int
main()
{
    const uint32_t count = 50;
    const uint32_t flows = 20;
    NodeContainer nodes;
    nodes.Create(count);

    YansWifiChannelHelper channel;
    channel.SetPropagationDelay("ns3::ConstantSpeedPropagationDelayModel");
    channel.AddPropagationLoss("ns3::RangePropagationLossModel", "MaxRange", DoubleValue(250));
    YansWifiPhyHelper phy;
    phy.SetChannel(channel.Create());
    WifiMacHelper mac;
    mac.SetType("ns3::AdhocWifiMac");
    WifiHelper wifi;
    wifi.SetStandard(WIFI_STANDARD_80211b);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager",
                                 "DataMode", StringValue("DsssRate11Mbps"),
                                 "ControlMode", StringValue("DsssRate1Mbps"),
                                 "NonUnicastMode", StringValue("DsssRate1Mbps"));
    NetDeviceContainer devices = wifi.Install(phy, mac, nodes);

    ObjectFactory places("ns3::RandomRectanglePositionAllocator");
    places.Set("X", StringValue("ns3::UniformRandomVariable[Min=0|Max=1000]"));
    places.Set("Y", StringValue("ns3::UniformRandomVariable[Min=0|Max=1000]"));
    Ptr<PositionAllocator> positions = places.Create()->GetObject<PositionAllocator>();
    MobilityHelper mobility;
    mobility.SetPositionAllocator(positions);
    mobility.SetMobilityModel("ns3::RandomWaypointMobilityModel",
                              "Speed", StringValue("ns3::UniformRandomVariable[Min=1|Max=20]"),
                              "Pause", StringValue("ns3::ConstantRandomVariable[Constant=0]"),
                              "PositionAllocator", PointerValue(positions));
    mobility.Install(nodes);

    DsdvHelper routing;
    InternetStackHelper stack;
    stack.SetRoutingHelper(routing);
    stack.Install(nodes);
    Ipv4AddressHelper addresses("10.1.0.0", "255.255.0.0");
    Ipv4InterfaceContainer interfaces = addresses.Assign(devices);

    ApplicationContainer sinks;
    for (uint32_t flow = 0; flow < flows; ++flow)
    {
        const uint32_t from = 2 * flow % count;
        const uint32_t to = (2 * flow + 1) % count;
        OnOffHelper source("ns3::UdpSocketFactory", InetSocketAddress(interfaces.GetAddress(to), 9));
        source.SetConstantRate(DataRate(512 * 8 * 4), 512);
        source.Install(nodes.Get(from)).Start(Seconds(5 + 0.25 * flow));
        PacketSinkHelper sink("ns3::UdpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 9));
        sinks.Add(sink.Install(nodes.Get(to)));
    }
    Simulator::Stop(Seconds(100));
    Simulator::Run();
    uint64_t received = 0;
    for (uint32_t sink = 0; sink < sinks.GetN(); ++sink)
    {
        received += DynamicCast<PacketSink>(sinks.Get(sink))->GetTotalRx() / 512;
    }
    std::cout << "received\n" << received << std::endl;
    Simulator::Destroy();
}

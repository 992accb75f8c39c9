// AX: 50 stations of 802.11ax (80 MHz, two streams, MCS 11) that always have datagrams of 1472 B for their access point, 10 s, in
// ns-3. Everything is in range; nothing is lost but by collisions. Prints the received packets.
#include <iostream>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/wifi-module.h"

using namespace ns3;

int
main(int argc, char* argv[])
{
    const uint32_t count = 50;
    double seconds = 10;
    CommandLine options;
    options.AddValue("seconds", "simulated time", seconds);
    options.Parse(argc, argv);
    NodeContainer point(1);
    NodeContainer stations(count);

    YansWifiChannelHelper channel;
    channel.SetPropagationDelay("ns3::ConstantSpeedPropagationDelayModel");
    channel.AddPropagationLoss("ns3::RangePropagationLossModel", "MaxRange", DoubleValue(250));
    YansWifiPhyHelper phy;
    phy.SetChannel(channel.Create());
    phy.Set("ChannelSettings", StringValue("{0, 80, BAND_5GHZ, 0}"));
    phy.Set("Antennas", UintegerValue(2));
    phy.Set("MaxSupportedTxSpatialStreams", UintegerValue(2));
    phy.Set("MaxSupportedRxSpatialStreams", UintegerValue(2));
    WifiHelper wifi;
    wifi.SetStandard(WIFI_STANDARD_80211ax);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager",
                                 "DataMode", StringValue("HeMcs11"),
                                 "ControlMode", StringValue("OfdmRate24Mbps"));
    // As in the simulator's scenario; the defaults are 3200 ns, 64 and 65535 B.
    Config::SetDefault("ns3::HeConfiguration::GuardInterval", TimeValue(NanoSeconds(800)));
    Config::SetDefault("ns3::HeConfiguration::MpduBufferSize", UintegerValue(256));
    Config::SetDefault("ns3::WifiRemoteStationManager::RtsCtsThreshold", UintegerValue(4692480));
    Config::SetDefault("ns3::WifiMacQueue::MaxSize", QueueSizeValue(QueueSize("1000p")));
    WifiMacHelper mac;
    const Ssid ssid("office");
    mac.SetType("ns3::StaWifiMac", "Ssid", SsidValue(ssid), "MaxMissedBeacons", UintegerValue(1000000), "BE_MaxAmpduSize", UintegerValue(6500631));
    NetDeviceContainer devices = wifi.Install(phy, mac, stations);
    mac.SetType("ns3::ApWifiMac", "Ssid", SsidValue(ssid), "BE_MaxAmpduSize", UintegerValue(6500631));
    devices.Add(wifi.Install(phy, mac, point));
    wifi.AssignStreams(devices, 1);

    NodeContainer all(stations, point);
    MobilityHelper mobility;
    mobility.SetPositionAllocator("ns3::UniformDiscPositionAllocator", "rho", DoubleValue(10));
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.Install(all);

    InternetStackHelper internet;
    internet.Install(all);
    Ipv4AddressHelper addresses;
    addresses.SetBase("10.0.0.0", "255.255.255.0");
    const Ipv4InterfaceContainer interfaces = addresses.Assign(devices);

    UdpServerHelper server(9);
    ApplicationContainer sink = server.Install(point);
    UdpClientHelper client(interfaces.GetAddress(count), 9);
    client.SetAttribute("MaxPackets", UintegerValue(4000000000U));
    client.SetAttribute("PacketSize", UintegerValue(1472));
    client.SetAttribute("Interval", TimeValue(Seconds(1472 * 8 / 16e6)));
    ApplicationContainer sources = client.Install(stations);
    Ptr<UniformRandomVariable> start = CreateObject<UniformRandomVariable>();
    for (uint32_t station = 0; station < count; ++station)
    {
        sources.Get(station)->SetStartTime(Seconds(start->GetValue(0.0, 0.1)));
    }
    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
    std::cout << DynamicCast<UdpServer>(sink.Get(0))->GetReceived() << std::endl;
    Simulator::Destroy();
}
